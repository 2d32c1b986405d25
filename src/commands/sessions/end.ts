import * as Args from '@oclif/core/args'
import { AccountCommand } from '../../lib/cli/base-command.ts'

/** Ends another login of the account. */
export default class SessionsEnd extends AccountCommand {
  static override summary = 'End one of your other logins'

  static override description = `ID is the id of the login or its first characters (at least 4). Its \
tokens stop working at once. Use logout to end the login in use, logout --all to end every login.`

  static override examples = [
    { description: 'a laptop that was lost', command: '<%= config.bin %> sessions end 0b7f3c1e' },
  ]

  static override args = {
    id: Args.string({ ignoreStdin: true, description: 'id of the login', required: true }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(SessionsEnd)
    const { endSession } = await import('../account/sessions.ts')
    await endSession(args.id, flags, process.env)
  }
}
