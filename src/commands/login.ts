import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AccountCommand, passwordFlags, noInputFlag } from '../lib/cli/base-command.ts'

/** Gets a token for a user name and password, and saves it. */
export default class Login extends AccountCommand {
  static override summary = 'Log in to an accounts server'

  static override description = `Prompts for the password without showing it, checks it with the \
accounts server, and saves the token in ~/.config/service-cli/config.toml, which only you can read. \
XDG_CONFIG_HOME replaces ~/.config. Logins to several accounts servers can coexist.

SERVICE_TOKEN and SERVICE_TOKEN_FILE take precedence over the saved login.`

  static override examples = [
    { description: 'prompt for the password', command: '<%= config.bin %> login alice' },
    {
      description: 'from a password manager',
      command: 'pass show registry | <%= config.bin %> login alice --password-stdin',
    },
    {
      description: 'save an existing token',
      command: '<%= config.bin %> login --token-stdin < token.txt',
    },
    {
      description: 'another accounts server',
      command: '<%= config.bin %> login alice --registry https://registry.studio.example',
    },
  ]

  static override args = {
    // Else the parser would take the secret on stdin for the name.
    username: Args.string({ ignoreStdin: true, description: 'your user name, or email address' }),
  }

  static override flags = {
    ...passwordFlags,
    'token-stdin': Flags.boolean({
      description: 'read a token from stdin and save it, instead of a password',
    }),
    ...noInputFlag,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Login)
    const { login } = await import('./account/login.ts')
    await login(args.username, flags, process.env)
  }
}
