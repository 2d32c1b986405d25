import { TokenCommand } from '../../lib/cli/base-command.ts'
import type { ServiceTokenView } from '../../lib/accounts/wire.ts'
import { expiryText } from '../../lib/util/amounts.ts'
import { openToken } from '../account-context.ts'

export default class TokenList extends TokenCommand {
  static override summary = 'List your tokens for pipelines, agents and workstations'
  static override description = 'Shows name, id, scopes and expiry of each.'
  static override examples = ['<%= config.bin %> token list']

  override async run(): Promise<void> {
    const { flags } = await this.parse(TokenList)
    const { client, server, output, withToken } = await openToken(flags)
    const tokens = await withToken(session => client.listTokens(session))
    await output.result(tokens.map(describeToken).join('\n'), { registry: server.url, tokens })
    if (tokens.length === 0) output.note(`the account has no service tokens at ${server.url}`)
  }
}

/** `token "ci" (ID): read, publish; expires in 29 days`. */
export function describeToken(token: ServiceTokenView): string {
  const expiry = expiryText(Date.parse(token.expires_at), Date.now())
  return `token "${token.name}" (${token.id}): ${token.scopes.join(', ')}; ${expiry}`
}
