import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { TokenCommand, noInputFlag } from '../lib/cli/base-command.ts'

/** Changes a password, or sets a new one with a code. */
export default class Password extends TokenCommand {
  static override summary = 'Change your password, or set a new one with a reset code'

  static override description = `Prompts for the current password and twice for the new one, without \
showing them. Ends every other login of the account; this login and service tokens stay valid.

With --code it prompts for a code from the operator of the accounts server instead of the \
current password. The code is valid once. Ends every login and service token of the account, lists \
them, and logs you in.`

  static override examples = [
    { description: 'prompt for everything', command: '<%= config.bin %> password' },
    {
      description: 'in a script: the current password, then the new one, a line each',
      command: 'cat passwords.txt | <%= config.bin %> password --password-stdin',
    },
    { description: 'after a lost password', command: '<%= config.bin %> password alice --code' },
  ]

  static override args = {
    username: Args.string({
      ignoreStdin: true,
      description: 'with --code: your user name, or email address',
    }),
  }

  static override flags = {
    'password-stdin': Flags.boolean({
      description: 'read the current password (or reset code) and the new one from stdin',
    }),
    code: Flags.boolean({ description: 'set a new password with a code from the operator' }),
    ...noInputFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Password)
    const { changePassword } = await import('./account/change-password.ts')
    await changePassword(args.username, flags, process.env)
  }
}
