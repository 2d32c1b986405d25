import { expiryText } from '../../lib/cli/format.ts'
import { parseRfc3339, toRfc3339 } from '../../lib/util/time.ts'
import type { TokenSource } from '../../lib/accounts/token-source.ts'

/** Who a token belongs to, as far as it is known, and where it came from. */
export interface Identity {
  readonly registry: string
  readonly username: string
  readonly email: string | undefined
  readonly source: TokenSource
  /** `--token`, `SERVICE_TOKEN`, a path. */
  readonly sourceName: string
  /** Did the registry say so just now? */
  readonly verified: boolean
  readonly expiresAtMs: number | undefined
  /** When the login itself ends, which no refresh can pass. */
  readonly loginEndsAtMs: number | undefined
  readonly scopes: readonly string[] | undefined
  /** Of a service token. */
  readonly tokenName: string | undefined
}

/** The first two lines alone when nothing but the result is wanted. */
export function identityText(identity: Identity, nowMs: number, brief: boolean): string {
  const { registry, username, email, sourceName, verified, expiresAtMs, loginEndsAtMs } = identity
  const unverified = verified ? '' : ' (saved, not verified)'
  const lines = [`username: ${username}${unverified}`, `email:    ${email ?? 'not known'}`]
  if (brief) return lines.join('\n')
  const named = identity.tokenName === undefined ? '' : ` ("${identity.tokenName}")`
  const expiry = expiresAtMs === undefined ? '' : `, ${expiryText(expiresAtMs, nowMs)}`
  lines.push(`registry: ${registry}`, `token:    from ${sourceName}${named}${expiry}`)
  if (loginEndsAtMs !== undefined) {
    lines.push(`login:    ${expiryText(loginEndsAtMs, nowMs, 'end')}`)
  }
  return lines.join('\n')
}

/** Members are always there, null where nothing is known. */
export function identityJson(identity: Identity): Record<string, unknown> {
  const { registry, username, email, source, sourceName, verified, scopes, tokenName } = identity
  return {
    registry,
    username,
    email: email ?? null,
    verified,
    source,
    source_name: sourceName,
    expires_at: timeOrNull(identity.expiresAtMs),
    refresh_expires_at: timeOrNull(identity.loginEndsAtMs),
    scopes: scopes ?? null,
    token_name: tokenName ?? null,
  }
}

export function timeOrNull(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : toRfc3339(timeMs)
}

/** A time that a registry sent; undefined for anything else. */
export function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : (parseRfc3339(text) ?? undefined)
}
