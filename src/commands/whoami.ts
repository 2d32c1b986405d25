import { TokenCommand } from '../lib/cli/base-command.ts'
import type { Me } from '../lib/accounts/client.ts'
import { tokenExpiry } from '../lib/accounts/token.ts'
import { failureText } from '../lib/cli/failure.ts'
import type { SavedLogin } from '../lib/config/config-file.ts'
import { expiryText } from '../lib/util/amounts.ts'
import { type ErrorCode, ServiceError } from '../lib/util/errors.ts'
import type { Secret } from '../lib/util/secret.ts'
import { parseTime, rfc3339OrNull } from '../lib/util/time.ts'
import { openToken, type TokenContext } from './account/context.ts'

/** Says who the token belongs to. */
export default class Whoami extends TokenCommand {
  static override summary = 'Show who is logged in'

  static override description = `Shows user name, email address and team, and the source and \
expiry of the token. When the accounts server cannot be reached, it shows the saved login as not \
verified, and exits with 5.`

  static override examples = [
    { description: 'who is logged in', command: '<%= config.bin %> whoami' },
    { description: 'for a script', command: '<%= config.bin %> whoami --json' },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(Whoami)
    const context = await openToken(flags)
    const { client, output } = context
    try {
      const { me, token } = await context.withToken(async token => {
        return { me: await client.me(token), token }
      })
      const identity = identityOf(context, me, await context.savedLogin(), token)
      await output.result(identityText(identity, flags.quiet), identity)
    } catch (error) {
      if (!(error instanceof ServiceError) || !networkErrors.has(error.code)) throw error
      const login = await context.savedLogin()
      if (login?.username === undefined) throw error
      // The saved name is better than nothing, but it proves nothing.
      const identity = identityOf(context, { ...login, username: login.username }, login)
      const { code, message, hint } = error
      const told = { ...identity, error: { code, message, hint } }
      await output.result(identityText(identity, flags.quiet), told)
      if (!flags.json) process.stderr.write(failureText(error, false))
      process.exitCode = error.oclif.exit
    }
  }
}

const networkErrors: ReadonlySet<ErrorCode> = new Set([
  'network_failed',
  'net_timeout',
  'proxy_failed',
] as const)

type Identity = ReturnType<typeof identityOf>

/** As with `--json`; null: not known. Without the token the accounts server was not asked. */
function identityOf(
  { server, source }: TokenContext,
  me: Me,
  login: SavedLogin | undefined,
  token?: Secret,
) {
  const expiresAtMs = parseTime(me.token?.expires_at) ?? login?.accessExpiresAtMs
  const endsAtMs = parseTime(me.session?.expires_at) ?? login?.refreshExpiresAtMs
  return {
    registry: server.url,
    username: me.username,
    email: me.email ?? null,
    team: me.team ?? null,
    verified: token !== undefined,
    source: source.source,
    source_name: source.name,
    expires_at: rfc3339OrNull(expiresAtMs ?? (token && tokenExpiry(token))),
    refresh_expires_at: rfc3339OrNull(endsAtMs),
    scopes: me.scopes ?? null,
    token_name: me.token?.name ?? null,
  }
}

/** The first two lines alone when `isBrief`. */
function identityText(identity: Identity, isBrief: boolean): string {
  const { username, email, team, verified, registry, source_name, token_name } = identity
  const lines = [
    `username: ${username}${verified ? '' : ' (saved, not verified)'}`,
    `email:    ${email ?? 'not known'}`,
  ]
  if (isBrief) return lines.join('\n')
  const [expiresAtMs, endsAtMs] = [identity.expires_at, identity.refresh_expires_at].map(parseTime)
  const named = token_name === null ? '' : ` ("${token_name}")`
  const expiry = expiresAtMs === undefined ? '' : `, ${expiryText(expiresAtMs, Date.now())}`
  if (team !== null) lines.push(`team:     ${team}`)
  lines.push(`registry: ${registry}`, `token:    from ${source_name}${named}${expiry}`)
  if (endsAtMs !== undefined) lines.push(`login:    ${expiryText(endsAtMs, Date.now(), 'end')}`)
  return lines.join('\n')
}
