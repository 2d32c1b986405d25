import { TokenCommand } from '../../lib/cli/base-command.ts'
import { openToken } from '../account/context.ts'

/** Prints the token in use. */
export default class TokenPrint extends TokenCommand {
  static override summary = 'Print the token in use, for scripts'

  static override description = `Prints the token that other commands would use, alone, on stdout.`

  static override examples = [
    {
      description: 'call the accounts server yourself',
      command:
        'printf "Authorization: Bearer %s" "$(<%= config.bin %> token print)" | curl -H @- http://127.0.0.1:8780/api/v1/auth/me',
    },
  ]

  override async run(): Promise<void> {
    const { flags } = await this.parse(TokenPrint)
    const { server, output, source, withToken } = await openToken(flags)
    const token = await withToken(async used => used.reveal())
    await output.result(token, {
      registry: server.url,
      source: source.source,
      source_name: source.name,
      token,
    })
  }
}
