import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AccountCommand, passwordFlags, noInputFlag } from '../lib/cli/base-command.ts'

/** Makes an account, and logs in to it. */
export default class Register extends AccountCommand {
  static override summary = 'Create an account at an accounts server, and log in'

  static override description = `Prompts for missing values: the password twice, without showing it, \
and an invitation code when the accounts server requires one. User names have at least 3 characters, \
passwords at least 8; the accounts server may require more.`

  static override examples = [
    {
      description: 'prompt for the password',
      command: '<%= config.bin %> register alice --email alice@studio.example',
    },
    {
      description: 'from a password manager',
      command:
        'pass show registry | <%= config.bin %> register alice --email alice@studio.example --password-stdin',
    },
  ]

  static override args = {
    username: Args.string({ ignoreStdin: true, description: 'the name of the account' }),
  }

  static override flags = {
    email: Flags.string({ description: 'your email address', helpValue: 'EMAIL' }),
    ...passwordFlags,
    ...noInputFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Register)
    const { register } = await import('./account/register.ts')
    await register(args.username, flags, process.env)
  }
}
