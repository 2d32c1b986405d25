import type { SavedLogin } from '../config/config-file.ts'
import { serviceTokenPrefix } from './protocol.ts'
import { isJsonObject, parseJson } from '../util/json.ts'

/** Whether a new token is due before this one is used. Unknown ends are left to the server. */
export function needsRefresh(entry: SavedLogin, nowMs: number, marginMs: number): boolean {
  const { accessExpiresAtMs } = entry
  if (!canRefresh(entry) || accessExpiresAtMs === undefined) return false
  return accessExpiresAtMs - nowMs < marginMs
}

/** Service tokens are made for a time and never refreshed. */
export function canRefresh({ accessToken }: SavedLogin): boolean {
  return accessToken !== undefined && !accessToken.reveal().startsWith(serviceTokenPrefix)
}

export function isExpired({ accessExpiresAtMs }: SavedLogin, nowMs: number): boolean {
  return accessExpiresAtMs !== undefined && accessExpiresAtMs <= nowMs
}

const maxTokenChars = 8192
const maxDepth = 16
/** 9999-12-31: later times have no RFC 3339 form. */
const latestSeconds = 253_402_300_799

/**
 * When a token says that it ends, in milliseconds; null for a token that does not say so. Nothing
 * is verified: it only tells when to ask for a new one, and the accounts server decides.
 */
export function readJwtExpiry(token: string): number | null {
  const parts = token.split('.')
  if (parts.length !== 3 || token.length > maxTokenChars) return null
  const claims = parseJson(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'), maxDepth)
  if (!claims.ok || !isJsonObject(claims.value)) return null
  const exp = claims.value['exp']
  if (typeof exp !== 'number' || !(exp > 0) || exp > latestSeconds) return null
  return Math.floor(exp * 1000)
}
