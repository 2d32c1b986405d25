import { hash, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'

const redacted = '[secret]'

/**
 * A text that must not reach a log, an error or an answer: every way of printing it is redacted.
 */
export class Secret {
  readonly #text: string
  readonly #digest: Buffer

  /** Throws `TypeError` for the empty text, which would equal a header without a token. */
  constructor(text: string) {
    if (text === '') throw new TypeError('a secret must not be empty')
    this.#text = text
    this.#digest = digestOf(text)
  }

  /** The text itself. Each call is a place where the secret may leak: keep them few. */
  reveal(): string {
    return this.#text
  }

  /** Compares in a time that depends on neither text; digests make the lengths equal. */
  equals(text: string): boolean {
    return timingSafeEqual(this.#digest, digestOf(text))
  }

  toString(): string {
    return redacted
  }

  toJSON(): string {
    return redacted
  }

  [inspect.custom](): string {
    return redacted
  }
}

/** In hex, which Node makes in a third of the time that it takes for bytes. */
function digestOf(text: string): Buffer {
  return Buffer.from(hashOfSecret(text), 'latin1')
}

/**
 * What is stored of a random secret: SHA-256 in hex. Unlike a password it needs no salt and no slow
 * hash, and a look-up of the hash reveals nothing through timing.
 */
export function hashOfSecret(text: string): string {
  return hash('sha256', text)
}

/**
 * Names of members and parameters whose values are hidden, in any spelling: `apiKey`, `API_KEY`,
 * `Set-Cookie`. Plain `key` and `keys` are those of an animation; `host_token_file` is a path.
 */
const secretName =
  /passw(?:or)?d|passphrase|secret|credential|cookie|authorization|token$|(?:api|access|private|signing)[-_]?keys?$/i

/** Returns whether the value of a member of this name must not be shown. */
export function isSecretMember(name: string, value: unknown): boolean {
  return value !== undefined && secretName.test(name)
}

/** Parameters of signed addresses and OAuth redirects. */
const credentialName = /^(?:code|auth|jwt|key|sig)$|signature$/i

/**
 * Returns the URI for a log: without user information and fragment, and with the values of
 * parameters named like a secret hidden.
 */
export function withoutSecrets(uri: string): string {
  const [whole = ''] = uri.split('#', 1)
  return whole
    .replace(/^([^/:?]*:\/*)[^/?]*@/, '$1')
    .replace(/([?&;])([^=&;]*)=[^&]*/g, (parameter, before: string, name: string) =>
      secretName.test(name) || credentialName.test(name)
        ? `${before}${name}=[redacted]`
        : parameter,
    )
}

/** Service, refresh, owner and page tokens, keys, JWTs and bearer tokens, anywhere in a text. */
const tokenLike = /(?:svc|srt|smk|spt|own)_[\w-]{8,}|eyJ[\w.-]{16,}|(?<=\bBearer )[\w.~+/-]{20,}/g

/** The text as a log or an error message may show it. */
export function hideTokens(text: string): string {
  return text.replace(tokenLike, '[redacted]')
}
