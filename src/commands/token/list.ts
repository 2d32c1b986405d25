import { TokenCommand } from '../../lib/cli/base-command.ts'
import type { ServiceTokenView } from '../../lib/accounts/wire.ts'
import { wrapWords } from '../../lib/cli/format.ts'
import { terminalWidth } from '../../lib/cli/terminal.ts'
import { expiryText } from '../../lib/util/amounts.ts'
import { openToken } from '../account/context.ts'

/** Lists the service tokens of the account. */
export default class TokenList extends TokenCommand {
  static override summary = 'List your tokens for pipelines, agents and workstations'

  static override description =
    'Shows name, id, scopes, expiry and last use of each. The tokens themselves are not stored.'

  static override examples = [
    { description: 'your tokens', command: '<%= config.bin %> token list' },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(TokenList)
    const { client, server, output, withToken } = await openToken(flags)
    const tokens = await withToken(session => client.listTokens(session))
    const width = terminalWidth(process.stdout)
    const lines = tokens.flatMap(token => wrapWords(describeToken(token), width, '', '  '))
    await output.result(lines.join('\n'), { registry: server.url, tokens })
    if (tokens.length === 0) output.note(`the account has no service tokens at ${server.url}`)
  }
}

/** `token "ci" (ID): read, publish; expires in 29 days; last used TIME`. */
export function describeToken(token: ServiceTokenView): string {
  const expiry = expiryText(Date.parse(token.expires_at), Date.now())
  const used = token.last_used_at === null ? '' : `; last used ${token.last_used_at}`
  return `token "${token.name}" (${token.id}): ${token.scopes.join(', ')}; ${expiry}${used}`
}
