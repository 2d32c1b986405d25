import type { SavedLogin } from '../config/config-file.ts'
import { serviceTokenPrefix } from './service-token-prefix.ts'

/** Is a new token to be asked for before this one is used? Unknown ends are left to the registry. */
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
