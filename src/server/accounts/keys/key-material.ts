import { createSecretKey, randomBytes } from 'node:crypto'
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type CryptoKey,
  type JWK,
} from 'jose'
import type { FreshKeys, KeyRing, PrivateJwk } from './key-ring.ts'
import type { KeySet } from './key-store.ts'

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
