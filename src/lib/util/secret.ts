import { hash, timingSafeEqual } from 'node:crypto'
import { inspect } from 'node:util'
import { numberOf } from './exact-json.ts'
import { parseJson } from './json.ts'

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
  return Buffer.from(hash('sha256', text, 'hex'), 'latin1')
}

/**
 * Whether a member of this name is likely to hold a secret. Names are taken apart into words
 * (`apiKey`, `api_key`, `X-Api-Key`), so that `keyframe`, `key_frame` and `monkey` stay.
 */
export function isSensitiveName(name: string): boolean {
  if (!mayBeSensitive.test(name)) return false
  const words = wordsOf(name)
  if (holdsSecretWord(words) || words.some(word => tokenCompound.test(word))) return true
  while (carriers.has(words.at(-1) ?? '')) words.pop()
  const last = words.at(-1) ?? ''
  // In these applications plain `keys` are those of an animation curve.
  if (last === 'keys') return keyOwners.has(words.at(-2) ?? '')
  return last === 'key' || last === 'token' || last === 'tokens'
}

/**
 * Returns whether the member is likely a secret. Numbers and booleans under amount names
 * (`max_tokens`, `tokens`) are not. Every value under `password`, `secret` and `api_key` is, also
 * with a bound before the name (`max_password`) and in the plural.
 */
export function isSecretMember(name: string, value: unknown): boolean {
  if (value === undefined || !isSensitiveName(name)) return false
  const isAmount = numberOf(value) !== undefined || typeof value === 'boolean'
  return !(isAmount && amountName.test(name) && !namesSecret(wordsOf(name)))
}

/** A replacer for `JSON.stringify` that hides members by their name and type. */
export function redactMember(name: string, value: unknown): unknown {
  return isSecretMember(name, value) ? '[redacted]' : value
}

function wordsOf(name: string): string[] {
  return name
    .split(camelHumps)
    .join(' ')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter(word => word !== '')
}

function holdsSecretWord(words: string[]): boolean {
  return words.some(word => secretWords.has(word) || secretCompound.test(word))
}

/** Passwords, secrets and API keys, which are not counted. */
function namesSecret(words: string[]): boolean {
  const isOwnedKey = (word: string, at: number): boolean =>
    /^keys?$/.test(word) && keyOwners.has(words[at - 1] ?? '')
  return holdsSecretWord(words) || words.some(isOwnedKey)
}

/** Tokens and keys are counted in the plural, or with a word for a bound before them. */
const amountName = /(?:token|key)s$|^(?:max|min|num|total|count)(?:[^a-z]|(?-i:(?=[A-Z])))/i

const mayBeSensitive = /pass|pwd|token|secret|key|auth|cookie|credential/i
const camelHumps = /(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/
/** Written without any border between the words. */
const secretCompound =
  /(?:[a-z](?:password|passwd|secret|cookie)|(?:api|access|private|secret|signing|auth)key)s?$/
const tokenCompound = /[a-z]tokens?$/
const secretWords = new Set([
  'password',
  'passwords',
  'passwd',
  'pwd',
  'passphrase',
  'secret',
  'secrets',
  'authorization',
  'cookie',
  'cookies',
  'credential',
  'credentials',
])
const carriers = new Set(['value', 'text', 'string', 'header'])
const keyOwners = new Set(['api', 'access', 'private', 'secret', 'signing', 'encryption', 'ssh'])

/**
 * Returns the URI for a log: without user information and fragment, and with the values of
 * parameters named like a secret hidden.
 */
export function withoutSecrets(uri: string): string {
  // What nearly all requests name has no part that may hold one.
  if (!/[@?#]/.test(uri)) return uri
  const [whole = ''] = uri.split('#', 1)
  const [address = '', ...queries] = whole.split('?')
  const shown = address.replace(/^([^/:]*:\/*)[^/]*@/, '$1')
  if (queries.length === 0) return shown
  return `${shown}?${queries.join('?').split('&').map(shownParameters).join('&')}`
}

/**
 * Some servers separate parameters by `;` too. What follows a secret may be a part of it, so it is
 * hidden with it.
 */
function shownParameters(text: string): string {
  const parts = text.split(';')
  const at = parts.findIndex(part => part.includes('=') && isSecretParameter(nameOf(part)))
  if (at === -1) return text
  return [...parts.slice(0, at), `${nameOf(parts[at] ?? '')}=[redacted]`].join(';')
}

function isSecretParameter(name: string): boolean {
  const plain = decoded(name)
  return isSensitiveName(plain) || credentialName.test(plain)
}

/** Signed addresses and OAuth redirects. `error_code` and `shot_code` are no credentials. */
const credentialName = /^code$|(?:^|[-_])(?:auth|jwt|sig|signature)$/i

function nameOf(parameter: string): string {
  return parameter.split('=', 1)[0] ?? ''
}

/** What cannot be decoded is judged as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Service, refresh, owner's and page tokens, invitations, reset codes, keys and JWTs, anywhere in a text. */
const tokenLike = /(?:svc|srt|inv|rst|smk|spt|own)_[A-Za-z0-9_-]{8,}|eyJ[A-Za-z0-9_.-]{16,}/g

/** Whether the secret is so short that it may be a word of a scene: only refusals hide it. */
export function mayBeWord(secret: Secret): boolean {
  return secret.reveal().length < 16
}

/** The text as a log or an error message may show it. */
export function hideTokens(text: string): string {
  return text.replace(tokenLike, '[redacted]')
}

/**
 * Hides the secrets in JSON of a server, which may repeat what it was sent; undefined when no valid
 * JSON is left. Call it before a text is cut, which would leave half of a secret.
 */
export function hideSecrets(json: unknown, secrets: readonly Secret[]): unknown {
  if (json === undefined || secrets.length === 0) return json
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
  let text = JSON.stringify(json)
  // The longest first: one may be part of another.
  const hidden = secrets.map(secret => secret.reveal()).toSorted((a, b) => b.length - a.length)
  for (const secret of hidden) text = text.replaceAll(inJson(secret), redacted)
  const parsed = parseJson(text, Infinity)
  // The secret may be a single quote or brace.
  return parsed.ok ? parsed.value : undefined
}
