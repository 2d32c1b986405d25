import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import { dirname } from 'node:path'
import { ensurePrivateFolder, readPrivateFile } from '../../lib/config/private-file.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'

/** The content of the file: private keys, each with its `kid`. */
interface KeyFile {
  /** Published, so that every server verifies with it before one of them signs with it. */
  next: NamedKey | null
  signing: NamedKey
  /** Its tokens are valid until they expire. */
  previous: NamedKey | null
}

type NamedKey = JWK & { kid: string }

type LoadedKeys = Awaited<ReturnType<typeof parseKeys>>

/** The ES256 keys of access tokens, in a file (0600) that every server has a copy of. */
export class SigningKeys {
  /** Another object once the file has changed. */
  current: LoadedKeys
  readonly #file: string
  #seen: string | null

  private constructor(file: string, text: string | null, keys: LoadedKeys) {
    this.#file = file
    this.#seen = text
    this.current = keys
  }

  /** Throws `config_invalid` for an unusable file, and without `create` for a missing one. */
  static async open(file: string, { create }: { create: boolean }): Promise<SigningKeys> {
    if (create && (await readPrivateFile(file)) === null) {
      await ensurePrivateFolder(dirname(file))
      const keys = { next: null, signing: await makeKey(), previous: null }
      await replaceFile(file, format(keys), { exclusive: true })
    }
    const text = await readPrivateFile(file)
    return new SigningKeys(file, text, await parseKeys(file, text))
  }

  /** Takes over a changed file. When it is unusable, throws once and keeps the keys at hand. */
  async reload(): Promise<void> {
    const text = await readPrivateFile(this.#file)
    if (text === this.#seen) return
    this.#seen = text
    this.current = await parseKeys(this.#file, text)
  }

  /** Publishes a next key and returns its `kid`. Throws `request_refused` while there is one. */
  async rotate(): Promise<string> {
    const { stored } = this.current
    if (stored.next !== null) {
      const hint = 'service-cli registry rotate-key --activate signs with it'
      const message = 'the next signing key is published already'
      throw new ServiceError('request_refused', message, { hint })
    }
    const next = await makeKey()
    await replaceFile(this.#file, format({ ...stored, next }))
    return next.kid
  }

  /** Signs with the next key and returns its `kid`. Throws `request_refused` when there is none. */
  async activate(): Promise<string> {
    const { next, signing } = this.current.stored
    if (next === null) {
      const hint = 'service-cli registry rotate-key publishes one'
      throw new ServiceError('request_refused', 'there is no next signing key', { hint })
    }
    await replaceFile(this.#file, format({ next: null, signing: next, previous: signing }))
    return next.kid
  }
}

function format(keys: KeyFile): string {
  return `${JSON.stringify(keys, null, 2)}\n`
}

async function makeKey(): Promise<NamedKey> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'ES256', use: 'sig' }
}

/** `jwks` has the public keys, and `verifying` finds that of a token, for `jwtVerify`. */
async function parseKeys(file: string, text: string | null) {
  if (text === null) {
    const hint = 'put it back, or copy signing-keys.json from the first server of the database'
    throw new ServiceError('config_invalid', `there is no key file ${file}`, { hint })
  }
  try {
    const stored: KeyFile = JSON.parse(text)
    const { signing, next, previous } = stored
    const key = (await importJWK(signing, 'ES256')) as CryptoKey
    const keys = [signing, next, previous]
      .filter(jwk => jwk !== null)
      .map(({ d: _secret, ...jwk }) => jwk)
    const jwks = { keys }
    const verifying = createLocalJWKSet(jwks)
    return { stored, signing: { kid: signing.kid, key }, jwks, verifying }
  } catch (error) {
    const hint = 'restore it, or move it away: new keys are made then, and clients refresh'
    const message = `the key file ${file} has no valid keys`
    throw new ServiceError('config_invalid', message, { cause: error, hint })
  }
}
