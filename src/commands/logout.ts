import * as Flags from '@oclif/core/flags'
import { AccountCommand } from '../lib/cli/base-command.ts'

/** Ends the saved login. */
export default class Logout extends AccountCommand {
  static override summary = 'Log out of an accounts server'

  static override description = `Ends the session at the accounts server and deletes the saved token. The \
token is deleted also when the accounts server cannot be reached; a warning then says so. Tokens in \
variables are not touched.`

  static override examples = [
    { description: 'this login', command: '<%= config.bin %> logout' },
    {
      description: 'every session of the account, on every machine',
      command: '<%= config.bin %> logout --all',
    },
  ]

  static override flags = {
    all: Flags.boolean({ description: 'end every session of the account, not this one alone' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Logout)
    const { logout } = await import('./account/logout.ts')
    await logout(flags, process.env)
  }
}
