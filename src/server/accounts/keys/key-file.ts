import { createSecretKey, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { errnoOf, isDiskFull, ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { noFollow, noWait, ownUid } from '../../../lib/util/posix.ts'
import { replaceFile } from '../../../lib/util/replace-file.ts'
import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import type { FreshKeys, KeyRing, KeySet, PrivateJwk } from './key-ring.ts'

const maxBytes = 4 * 1024 * 1024

/**
 * Null when the file is missing. Checks and reads one handle, so that the file cannot be exchanged.
 */
export async function readKeyFile(path: string, log: Logger): Promise<string | null> {
  const handle = await openToRead(path)
  if (handle === null) return null
  try {
    const found = await handle.stat({ bigint: true })
    const uid = ownUid()
    if (!found.isFile()) throw unsafe(path, 'is not a regular file')
    if (uid !== null && Number(found.uid) !== uid) {
      throw unsafe(path, `belongs to another user (uid ${found.uid})`)
    }
    if (found.size > maxBytes) throw unsafe(path, `is larger than ${maxBytes} bytes`)
    if (uid !== null && (found.mode & 0o077n) !== 0n) {
      await handle.chmod(0o600)
      const advice =
        'other users could open the keys by their mode; it is 0600 now, rotate the keys'
      log.warn({ path }, advice)
    }
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/** The old file or the new one is there, never half of one. */
export async function writeKeyFile(path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, text)
  } catch (error) {
    throw failed(path, error)
  }
}

async function openToRead(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | noFollow | noWait)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT') return null
    if (errno === 'ELOOP') throw unsafe(path, 'is a symbolic link')
    throw failed(path, error)
  }
}

function unsafe(path: string, what: string): ServiceError {
  const hint = 'move it away and restore the right one, or name another folder with --data-dir'
  return new ServiceError('registry_dir_unsafe', `${path} ${what}`, { hint })
}

function failed(path: string, error: unknown): ServiceError {
  const errno = errnoOf(error) ?? 'unknown error'
  const full = isDiskFull(error)
  return new ServiceError(
    full ? 'storage_full' : 'storage_failed',
    `the keys in ${path} cannot be read or written (${full ? 'the disk is full' : errno})`,
    { cause: error, hint: full ? 'free space on its disk' : 'check its folder, mode and disk' },
  )
}

const alg = 'ES256'

export async function makeFreshKeys(): Promise<FreshKeys> {
  return {
    signing: [await makeSigningKey(), await makeSigningKey()],
    refreshSecret: randomBytes(32).toString('base64url'),
  }
}

async function makeSigningKey(): Promise<FreshKeys['signing'][0]> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  const { x, y, d } = (await exportJWK(privateKey)) as Record<'x' | 'y' | 'd', string>
  const jwk = { kty: 'EC', crv: 'P-256', x, y, d } as const
  return { kid: await keyId(jwk), jwk }
}

/** RFC 7638: says which key it is and nothing of how it is kept. */
export function keyId({ kty, crv, x, y }: PrivateJwk): Promise<string> {
  return calculateJwkThumbprint({ kty, crv, x, y }, 'sha256')
}

/** Throws for what is no key, or a private key that does not go with its public one. */
export async function importKeys(ring: KeyRing): Promise<KeySet> {
  const verifying = new Map<string, CryptoKey>()
  const published: JWK[] = []
  let signing: KeySet['signing'] | undefined
  for (const { kid, jwk, state } of ring.signing) {
    const { d, ...open } = jwk
    // Imported even when it is not used: a broken one must show now, not at the next rotation.
    const key = (await importJWK({ ...open, d }, alg)) as CryptoKey
    if (state === 'active') signing = { kid, alg, key }
    verifying.set(kid, (await importJWK(open, alg)) as CryptoKey)
    published.push({ ...open, kid, alg, use: 'sig' })
  }
  const refreshKeys = new Map(
    ring.refresh.map(({ id, secret }) => [id, createSecretKey(secret, 'base64url')] as const),
  )
  const refreshId = ring.refresh.find(key => key.state === 'active')?.id
  const refreshKey = refreshId === undefined ? undefined : refreshKeys.get(refreshId)
  if (signing === undefined || refreshId === undefined || refreshKey === undefined) {
    throw new TypeError('no key is in use')
  }
  const refresh = { id: refreshId, key: refreshKey }
  return { signing, verifying, jwks: { keys: published }, refresh, refreshKeys }
}
