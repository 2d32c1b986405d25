import { createHmac, timingSafeEqual } from 'node:crypto'
import { withCheckSum, withoutCheckSum } from './names.ts'
import type { KeySource } from './access-tokens.ts'
import type { KeySet } from './keys/key-ring.ts'
import { formatUuid } from './uuid.ts'

export const refreshTokenPrefix = 'srt_'
const form = /^srt_[A-Za-z0-9_-]{50}[0-9a-f]{8}$/
const macBytes = 16
const maxCounter = 2 ** 32 - 1

export interface RefreshClaims {
  readonly sessionId: string
  /** How often the session had been rotated when the token was made. */
  readonly counter: number
}

/**
 * `srt_`, then in base64url: the id of the key (1 byte), the session (16), the counter (4), an
 * HMAC of these (16); then a check sum. Nothing of it is stored: a client that lost the answer can
 * be given the same token again, and a reader of the database cannot make one.
 */
export interface RefreshTokens {
  issue(claims: RefreshClaims): string
  /** Null for everything that was not made by `issue`, in exactly that spelling. */
  parse(token: string): RefreshClaims | null
  /** The id of the access token that belongs to a step: the same whenever it is asked for. */
  accessTokenId(claims: RefreshClaims): string
}

export function createRefreshTokens(keys: KeySource): RefreshTokens {
  return {
    issue: claims => format(claims, keys.current().refresh),
    parse(token) {
      if (!form.test(token)) return null
      const body = withoutCheckSum(token)?.slice(refreshTokenPrefix.length)
      if (body === undefined) return null
      const bytes = Buffer.from(body, 'base64url')
      const id = bytes.readUInt8(0)
      const key = keys.current().refreshKeys.get(id)
      if (key === undefined) return null
      const claims = {
        sessionId: formatUuid(bytes.subarray(1, 17)),
        counter: bytes.readUInt32BE(17),
      }
      // Made anew and compared as a whole: a second spelling of the same bytes is refused too.
      const expected = Buffer.from(format(claims, { id, key }))
      return timingSafeEqual(expected, Buffer.from(token)) ? claims : null
    },
    accessTokenId(claims) {
      const { key, id } = keys.current().refresh
      const mac = createHmac('sha256', key).update('jti').update(head(claims, id)).digest()
      return mac.subarray(0, macBytes).toString('base64url')
    },
  }
}

function format(claims: RefreshClaims, { id, key }: KeySet['refresh']): string {
  const bytes = head(claims, id)
  const mac = createHmac('sha256', key).update(bytes).digest().subarray(0, macBytes)
  return withCheckSum(refreshTokenPrefix + Buffer.concat([bytes, mac]).toString('base64url'))
}

function head({ sessionId, counter }: RefreshClaims, keyId: number): Buffer {
  if (counter > maxCounter) throw new RangeError('the session was refreshed too often')
  const bytes = Buffer.alloc(21)
  bytes.writeUInt8(keyId, 0)
  bytes.write(sessionId.replaceAll('-', ''), 1, 16, 'hex')
  bytes.writeUInt32BE(counter, 17)
  return bytes
}
