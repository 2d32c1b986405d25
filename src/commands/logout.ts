import * as Flags from '@oclif/core/flags'
import { AccountCommand } from '../lib/cli/base-command.ts'

/** Ends the saved login. */
export default class Logout extends AccountCommand {
  static override summary = 'Log out of an accounts server'

  static override description = `Ends the session at the accounts server and deletes the saved token. When \
the accounts server cannot be reached, it still deletes the token, and prints a warning. Tokens in \
environment variables stay.`

  static override examples = [
    { description: 'this login', command: '<%= config.bin %> logout' },
    {
      description: 'every session of the account, on every machine',
      command: '<%= config.bin %> logout --all',
    },
  ]

  static override flags = {
    all: Flags.boolean({ description: 'end every session of the account, on every machine' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Logout)
    const { logout } = await import('./account/logout.ts')
    await logout(flags, process.env)
  }
}
