import { createHash, randomBytes } from 'node:crypto'
import { serviceTokenPrefix } from '../../lib/accounts/protocol.ts'
import { withCheckSum, withoutCheckSum } from './names.ts'

const secretBytes = 24
const form = /^svc_[A-Za-z0-9_-]{32}[0-9a-f]{8}$/

/** A new token: `svc_`, 192 random bits, a check sum. Shown once; only its hash is kept. */
export function makeServiceToken(): string {
  return withCheckSum(serviceTokenPrefix + randomBytes(secretBytes).toString('base64url'))
}

export function isServiceToken(text: string): boolean {
  return form.test(text) && withoutCheckSum(text) !== null
}

/** What is stored of a token, an invitation or a reset code: they are random, so no salt. */
export function hashOfSecret(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
