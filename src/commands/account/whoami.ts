import { exitCodeOf } from '../../lib/cli/exit-codes.ts'
import { describeFailure } from '../../lib/cli/failure.ts'
import { expiryText } from '../../lib/util/amounts.ts'
import { readJwtExpiry } from '../../lib/accounts/refresh-need.ts'
import type { TokenChoice, TokenSource } from '../../lib/accounts/token-source.ts'
import type { SavedLogin } from '../../lib/config/config-file.ts'
import { liveLogins, savedLogin } from '../../lib/config/saved-logins.ts'
import { type ErrorCode, ServiceError, usage } from '../../lib/util/errors.ts'
import { requireAccountsUrl } from '../../lib/config/accounts-url.ts'
import { parseTime, rfc3339OrNull } from '../../lib/util/time.ts'
import { notLoggedIn } from '../../lib/accounts/session.ts'
import { connect } from './connect.ts'
import { type AccountContext, type AccountFlags, openContext } from './context.ts'

interface WhoamiFlags extends AccountFlags {
  readonly offline?: boolean
  readonly all?: boolean
}

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
export async function whoami(flags: WhoamiFlags, env: NodeJS.ProcessEnv): Promise<number> {
  if (flags.all === true) return whoamiAll(flags, env)
  const context = await openContext(flags, env)
  const { choice, login, output } = context
  const brief = flags.quiet === true
  const show = (identity: Identity, more: object = {}) =>
    output.result(identityText(identity, Date.now(), brief), { ...identityJson(identity), ...more })
  if (flags.offline === true) {
    await show(savedIdentity(context))
    return 0
  }
  if (choice === null) throw notLoggedIn(context.server)
  try {
    await show(await askedIdentity(context, choice))
    return 0
  } catch (error) {
    if (!(error instanceof ServiceError) || !networkErrors.has(error.code)) throw error
    if (choice.source !== 'config' || login?.username === undefined) throw error
    // The saved name is better than nothing, but it proves nothing.
    await show(savedIdentity(context), { error: errorJson(error) })
    if (flags.json !== true) process.stderr.write(describeFailure(error, false).stderr)
    return exitCodeOf[error.code]
  }
}

const networkErrors: ReadonlySet<ErrorCode> = new Set([
  'network_failed',
  'net_timeout',
  'tls_failed',
  'proxy_failed',
] as const)

/** Shows every saved login. The exit code is that of the first failure. */
async function whoamiAll(flags: WhoamiFlags, env: NodeJS.ProcessEnv): Promise<number> {
  if ((flags.token ?? flags.account ?? flags.registry) !== undefined) {
    throw usage(
      '--all cannot be combined with --token, --account or --registry',
      'it shows every saved login',
    )
  }
  // The saved logins, whatever token or accounts server the environment names.
  const { SERVICE_TOKEN, SERVICE_TOKEN_FILE, SERVICE_REGISTRY, ...rest } = env
  const context = await openContext(flags, rest)
  const { config, output, server, store } = context
  const used = savedLogin(config, server.url)
  const rows = await Promise.all(
    Array.from(config.servers.keys()).flatMap(url =>
      liveLogins(config, url).map(async login => ({
        url,
        isDefault: login === used,
        ...(await lookUp(context, url, login, flags.offline === true)),
      })),
    ),
  )
  const text = rows.map(row => rowText(row, flags.quiet === true)).join('\n\n')
  const logins = rows.map(({ url, isDefault, identity, error }) => ({
    ...(identity === null ? { registry: url } : identityJson(identity)),
    default: isDefault,
    error: error === null ? null : errorJson(error),
  }))
  await output.result(text, { logins })
  if (rows.length === 0) output.note(`no login is saved in ${store.path}`)
  const failed = rows.find(({ error }) => error !== null)?.error ?? null
  return failed === null ? 0 : exitCodeOf[failed.code]
}

interface Found {
  readonly identity: Identity | null
  readonly error: ServiceError | null
}

async function lookUp(
  all: AccountContext,
  url: string,
  login: SavedLogin,
  offline: boolean,
): Promise<Found> {
  const choice = { source: 'config', name: all.store.path } as const
  let identity: Identity | null = null
  try {
    const server = requireAccountsUrl(url, all.store.path)
    const account = login.username
    const context = { ...all, server, login, account, endedAccount: undefined, choice }
    if (account !== undefined) identity = savedIdentity(context)
    if (!offline) identity = await askedIdentity(context, choice)
    return { identity, error: null }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { identity, error }
  }
}

async function askedIdentity(context: AccountContext, choice: TokenChoice): Promise<Identity> {
  const { server, store, account } = context
  const { client, withToken } = connect(context)
  const { me, token } = await withToken(async used => ({ me: await client.me(used), token: used }))
  // Read again: a refresh changes what is saved.
  const isSaved = choice.source === 'config'
  const login = isSaved ? savedLogin(await store.read(), server.url, account) : undefined
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

/** Throws `auth_required` without a saved login, `usage_invalid` when another token counts. */
function savedIdentity({ server, login, choice, store }: AccountContext): Identity {
  if (choice !== null && choice.source !== 'config') {
    throw usage(
      `whose token ${choice.name} holds is not saved here`,
      'leave --offline out to ask the accounts server',
    )
  }
  const username = login?.username
  if (choice === null || login === undefined || username === undefined) {
    throw new ServiceError('auth_required', `no login to ${server.url} is saved`, {
      hint: `service-cli login --registry ${server.url}`,
    })
  }
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

function rowText(
  { url, isDefault, identity, error }: Found & { url: string; isDefault: boolean },
  brief: boolean,
): string {
  const lines = identity === null ? [] : [identityText(identity, Date.now(), brief)]
  if (brief || identity === null) lines.push(`registry: ${url}`)
  if (isDefault) lines.push('default:  yes')
  if (error !== null) lines.push(`error:    ${error.message}`)
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

function errorJson({ code, message, hint }: ServiceError): object {
  return { code, message, hint }
}
