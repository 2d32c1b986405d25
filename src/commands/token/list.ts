import { TokenCommand } from '../../lib/cli/base-command.ts'

/** Lists the service tokens of the account. */
export default class TokenList extends TokenCommand {
  static override summary = 'List your tokens for pipelines, agents and workstations'

  static override description =
    'Shows name, id, scopes, expiry and last use of each. The tokens themselves are not stored.'

  static override examples = [
    { description: 'your tokens', command: '<%= config.bin %> token list' },
    { description: 'for a script', command: '<%= config.bin %> token list --json' },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(TokenList)
    const { listTokens } = await import('../account/tokens.ts')
    await listTokens(flags, process.env)
  }
}
