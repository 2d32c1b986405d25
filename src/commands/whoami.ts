import { TokenCommand } from '../lib/cli/base-command.ts'
import { tokenExpiry } from '../lib/auth/validate-bearer-token.ts'
import { expiryText } from '../lib/util/amounts.ts'
import { rfc3339OrNull } from '../lib/util/time.ts'
import { openToken } from './account-context.ts'

export default class Whoami extends TokenCommand {
  static override summary = 'Show who is logged in'
  static override description =
    'Shows user name, email address and team, and the source and expiry of the token.'
  static override examples = ['<%= config.bin %> whoami']

  override async run(): Promise<void> {
    const { flags } = await this.parse(Whoami)
    const { client, server, output, source, withToken } = await openToken(flags)
    const { me, expiresAtMs } = await withToken(async token => ({
      me: await client.me(token),
      expiresAtMs: tokenExpiry(token),
    }))
    // A member that the accounts server does not know is null.
    const identity = {
      registry: server.url,
      username: me.username,
      email: me.email ?? null,
      team: me.team ?? null,
      ...source,
      expires_at: me.token?.expires_at ?? rfc3339OrNull(expiresAtMs),
      refresh_expires_at: me.session?.expires_at ?? null,
      scopes: me.scopes ?? null,
      token_name: me.token?.name ?? null,
    }
    const named = identity.token_name === null ? '' : ` ("${identity.token_name}")`
    const lines = [
      `username: ${identity.username}`,
      `email:    ${identity.email ?? 'not known'}`,
      identity.team === null ? '' : `team:     ${identity.team}`,
      `registry: ${identity.registry}`,
      `token:    from ${identity.source_name}${named}${ending(identity.expires_at, ', expire')}`,
      ending(identity.refresh_expires_at, 'login:    end'),
    ]
    await output.result(lines.filter(Boolean).join('\n'), identity)
  }
}

function ending(time: string | null, what: string): string {
  return time === null ? '' : expiryText(Date.parse(time), Date.now(), what)
}
