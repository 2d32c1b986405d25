import { TokenCommand } from '../../lib/cli/base-command.ts'
import { openToken } from '../account-context.ts'

export default class TokenPrint extends TokenCommand {
  static override summary = 'Print the token in use, for scripts'
  static override description = `Prints the token that other commands would use, alone, on stdout.`
  static override examples = ['<%= config.bin %> token print']

  override async run(): Promise<void> {
    const { flags } = await this.parse(TokenPrint)
    const { server, output, source, withToken } = await openToken(flags)
    const token = await withToken(async used => used.reveal())
    await output.result(token, { registry: server.url, ...source, token })
  }
}
