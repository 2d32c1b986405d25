import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AccountCommand } from '../lib/cli/account-command.ts'

/** Changes a password, or sets a new one with a code. */
export default class Password extends AccountCommand {
  static override summary = 'change your password, or set a new one with a reset code'

  static override description = `Asks for the current password and, twice, for the new one, without \
showing them. The login goes on; every other login of the account ends, service tokens stay.

With --reset-code, which the owner of the registry makes for a lost password, the current one is \
not asked for; the code is good once, every login and service token of the account ends, and you \
are logged in. The output lists what ended.`

  static override examples = [
    { description: 'be asked for all of it', command: '<%= config.bin %> password' },
    {
      description: 'in a script: the current password, then the new one, a line each',
      command: 'cat passwords.txt | <%= config.bin %> password --password-stdin',
    },
    {
      description: 'after a lost password',
      command: '<%= config.bin %> password alice --reset-code CODE',
    },
  ]

  static override args = {
    username: Args.string({
      ignoreStdin: true,
      description: 'with --reset-code: your user name, or email address',
    }),
  }

  static override flags = {
    'password-stdin': Flags.boolean({
      description:
        'read two lines from stdin: the current password, the new one; with --reset-code the new one alone',
    }),
    'reset-code': Flags.string({
      description: 'the code that the owner of the registry gave you; worth nothing once used',
      helpValue: 'CODE',
    }),
    'keep-tokens': Flags.boolean({
      description: 'with --reset-code: leave the service tokens of the account valid',
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Password)
    const { changePassword } = await import('./account/change-password.ts')
    await changePassword(args.username, flags, process.env)
  }
}
