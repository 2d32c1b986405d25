import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import { dirname } from 'node:path'
import { z } from 'zod'
import { ensurePrivateFolder, readPrivateFile } from '../../lib/config/private-file.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'

const privateJwk = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  d: z.string(),
  kid: z.string(),
})
type PrivateJwk = z.infer<typeof privateJwk>

const keyFile = z.object({
  /** Published, so that every server verifies with it before one of them signs with it. */
  next: privateJwk.nullable(),
  signing: privateJwk,
  /** Its tokens are valid until they expire. */
  previous: privateJwk.nullable(),
})
type KeyFile = z.infer<typeof keyFile>

interface LoadedKeys {
  text: string
  stored: KeyFile
  signing: { kid: string; key: CryptoKey }
  verifying: Map<string, CryptoKey>
}

/** The ES256 keys of access tokens, in a file (0600) that every server has a copy of. */
export class SigningKeys {
  /** There was no file: access tokens made before are void. */
  readonly isNew: boolean
  readonly #file: string
  #keys: LoadedKeys

  private constructor(file: string, keys: LoadedKeys, isNew: boolean) {
    this.#file = file
    this.#keys = keys
    this.isNew = isNew
  }

  /** Throws `config_invalid` for an unusable file, and without `create` for a missing one. */
  static async open(file: string, { create }: { create: boolean }): Promise<SigningKeys> {
    let isNew = false
    if (create && (await readPrivateFile(file)) === null) {
      await ensurePrivateFolder(dirname(file))
      const keys = { next: null, signing: await makeKey(), previous: null }
      isNew = await replaceFile(file, format(keys), { exclusive: true })
    }
    return new SigningKeys(file, await load(file), isNew)
  }

  get signing(): { kid: string; key: CryptoKey } {
    return this.#keys.signing
  }

  verifying(kid: string): CryptoKey | null {
    return this.#keys.verifying.get(kid) ?? null
  }

  /** The public keys, for `/.well-known/jwks.json`. */
  jwks(): { keys: JWK[] } {
    const { stored } = this.#keys
    const keys = all(stored).map(({ d: _secret, ...key }) => ({ ...key, alg: 'ES256', use: 'sig' }))
    return { keys }
  }

  /** Takes over a changed file. When it is unusable, throws and keeps the keys at hand. */
  async reload(): Promise<void> {
    if ((await readPrivateFile(this.#file)) !== this.#keys.text) this.#keys = await load(this.#file)
  }

  /** Publishes a next key. Throws `request_refused` while there is one. */
  async rotate(): Promise<{ kid: string }> {
    const { stored } = this.#keys
    if (stored.next !== null) {
      const hint = 'service-cli registry rotate-key --activate signs with it'
      const message = 'the next signing key is published already'
      throw new ServiceError('request_refused', message, { hint })
    }
    const next = await makeKey()
    await this.#store({ ...stored, next })
    return { kid: next.kid }
  }

  /** Signs with the next key. Throws `request_refused` when there is none. */
  async activate(): Promise<{ kid: string }> {
    const { next, signing } = this.#keys.stored
    if (next === null) {
      const hint = 'service-cli registry rotate-key publishes one'
      throw new ServiceError('request_refused', 'there is no next signing key', { hint })
    }
    await this.#store({ next: null, signing: next, previous: signing })
    return { kid: next.kid }
  }

  async #store(keys: KeyFile): Promise<void> {
    await replaceFile(this.#file, format(keys))
    this.#keys = await load(this.#file)
  }
}

function all({ next, signing, previous }: KeyFile): PrivateJwk[] {
  return [signing, next, previous].filter(key => key !== null)
}

function format(keys: KeyFile): string {
  return `${JSON.stringify(keys, null, 2)}\n`
}

async function makeKey(): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return privateJwk.parse({ ...jwk, kid: await calculateJwkThumbprint(jwk) })
}

async function load(file: string): Promise<LoadedKeys> {
  const text = await readPrivateFile(file)
  if (text === null) {
    const hint = 'put it back; without it every access token is void'
    throw new ServiceError('config_invalid', `there is no key file ${file}`, { hint })
  }
  try {
    const stored = keyFile.parse(JSON.parse(text))
    const { kid } = stored.signing
    const verifying = new Map<string, CryptoKey>()
    for (const { d: _secret, ...key } of all(stored)) {
      verifying.set(key.kid, (await importJWK(key, 'ES256')) as CryptoKey)
    }
    const key = (await importJWK(stored.signing, 'ES256')) as CryptoKey
    return { text, stored, signing: { kid, key }, verifying }
  } catch (error) {
    const hint = 'restore it, or move it away: new keys are made then, and clients refresh'
    const message = `the key file ${file} has no valid keys`
    throw new ServiceError('config_invalid', message, { cause: error, hint })
  }
}
