import { failureText } from '../../lib/cli/failure.ts'
import { expiryText } from '../../lib/util/amounts.ts'
import { readJwtExpiry } from '../../lib/accounts/refresh-need.ts'
import type { TokenChoice, TokenSource } from '../../lib/accounts/token-source.ts'
import type { SavedLogin } from '../../lib/config/config-file.ts'
import { savedLogin } from '../../lib/config/saved-logins.ts'
import { type ErrorCode, ServiceError } from '../../lib/util/errors.ts'
import { parseTime, rfc3339OrNull } from '../../lib/util/time.ts'
import { notLoggedIn } from '../../lib/accounts/session.ts'
import { connect } from './connect.ts'
import { type AccountContext, type AccountFlags, openContext } from './context.ts'

/** The user of a token, as far as it is known, and where the token came from. */
export interface Identity {
  readonly registry: string
  readonly username: string
  readonly email: string | undefined
  /** Null: in none, or not known. */
  readonly team: string | null
  readonly source: TokenSource
  /** `--token`, `SERVICE_TOKEN`, a path. */
  readonly sourceName: string
  /** The accounts server said so just now. */
  readonly verified: boolean
  readonly expiresAtMs: number | undefined
  /** When the login itself ends, which no refresh can pass. */
  readonly loginEndsAtMs: number | undefined
  readonly scopes: readonly string[] | undefined
  /** Of a service token. */
  readonly tokenName: string | undefined
}

/** Returns the exit code: an identity that could not be verified is shown, and is no success. */
export async function whoami(flags: AccountFlags, env: NodeJS.ProcessEnv): Promise<number> {
  const context = await openContext(flags, env)
  const { choice, login, output } = context
  const brief = flags.quiet === true
  const show = (identity: Identity, more: object = {}) =>
    output.result(identityText(identity, Date.now(), brief), { ...identityJson(identity), ...more })
  if (choice === null) throw notLoggedIn(context.server)
  try {
    await show(await askedIdentity(context, choice))
    return 0
  } catch (error) {
    if (!(error instanceof ServiceError) || !networkErrors.has(error.code)) throw error
    if (choice.source !== 'config' || login?.username === undefined) throw error
    const { code, message, hint } = error
    // The saved name is better than nothing, but it proves nothing.
    await show(savedIdentity(context, login, login.username), { error: { code, message, hint } })
    if (flags.json !== true) process.stderr.write(failureText(error, false))
    return error.oclif.exit
  }
}

const networkErrors: ReadonlySet<ErrorCode> = new Set([
  'network_failed',
  'net_timeout',
  'proxy_failed',
] as const)

async function askedIdentity(context: AccountContext, choice: TokenChoice): Promise<Identity> {
  const { server, store } = context
  const { client, withToken } = connect(context)
  const { me, token } = await withToken(async used => ({ me: await client.me(used), token: used }))
  // Read again: a refresh changes what is saved.
  const isSaved = choice.source === 'config'
  const login = isSaved ? savedLogin(await store.read(), server.url) : undefined
  return {
    registry: server.url,
    username: me.username,
    email: me.email,
    team: me.team,
    source: choice.source,
    sourceName: choice.name,
    verified: true,
    expiresAtMs:
      parseTime(me.token?.expires_at) ??
      login?.accessExpiresAtMs ??
      readJwtExpiry(token.reveal()) ??
      undefined,
    loginEndsAtMs: login?.refreshExpiresAtMs ?? parseTime(me.sessionExpiresAt),
    scopes: me.scopes,
    tokenName: me.token?.name,
  }
}

function savedIdentity(
  { server, store }: AccountContext,
  login: SavedLogin,
  username: string,
): Identity {
  return {
    registry: server.url,
    username,
    email: login.email,
    team: null,
    source: 'config',
    sourceName: store.path,
    verified: false,
    expiresAtMs: login.accessExpiresAtMs,
    loginEndsAtMs: login.refreshExpiresAtMs,
    scopes: undefined,
    tokenName: undefined,
  }
}

/** The first two lines alone when `brief`. */
export function identityText(identity: Identity, nowMs: number, brief: boolean): string {
  const { registry, username, email, sourceName, verified, expiresAtMs, loginEndsAtMs } = identity
  const unverified = verified ? '' : ' (saved, not verified)'
  const lines = [`username: ${username}${unverified}`, `email:    ${email ?? 'not known'}`]
  if (brief) return lines.join('\n')
  const named = identity.tokenName === undefined ? '' : ` ("${identity.tokenName}")`
  const expiry = expiresAtMs === undefined ? '' : `, ${expiryText(expiresAtMs, nowMs)}`
  if (identity.team !== null) lines.push(`team:     ${identity.team}`)
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
    team: identity.team,
    verified,
    source,
    source_name: sourceName,
    expires_at: rfc3339OrNull(identity.expiresAtMs),
    refresh_expires_at: rfc3339OrNull(identity.loginEndsAtMs),
    scopes: scopes ?? null,
    token_name: tokenName ?? null,
  }
}
