import * as Args from '@oclif/core/args'
import { TokenCommand } from '../../lib/cli/base-command.ts'

/** Ends a service token. */
export default class TokenRevoke extends TokenCommand {
  static override summary = 'Revoke a token'

  static override description = `Takes effect at once. TOKEN is the id or the name; when several tokens share \
the name, the newest is revoked, after a confirmation on a terminal.`

  static override examples = [
    { description: 'by name', command: '<%= config.bin %> token revoke ci' },
  ]

  static override args = {
    token: Args.string({
      ignoreStdin: true,
      description: 'id or name of the token',
      required: true,
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(TokenRevoke)
    const { revokeToken } = await import('../account/tokens.ts')
    await revokeToken(args.token, flags, process.env)
  }
}
