import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AccountCommand } from '../lib/cli/base-command.ts'
import { parseToken, tokenExpiry } from '../lib/accounts/token.ts'
import { readSecretFromStdin } from '../lib/cli/secret-input.ts'
import { usage } from '../lib/util/errors.ts'
import { parseTime } from '../lib/util/time.ts'
import { type AccountContext, openAccount, saveLogin } from './account/context.ts'
import { readPassword, readText, noInputFlag, passwordFlags } from './account/password-input.ts'

/** Gets a token for a user name and password, and saves it. */
export default class Login extends AccountCommand {
  static override summary = 'Log in to an accounts server'

  static override description = `Prompts for the password without showing it, and saves the \
token in ~/.config/service-cli/config.toml, which only you can read. SERVICE_TOKEN and \
SERVICE_TOKEN_FILE take precedence over the saved login.`

  static override examples = [
    { description: 'prompt for the password', command: '<%= config.bin %> login alice' },
    {
      description: 'from a password manager',
      command: 'pass show registry | <%= config.bin %> login alice --password-stdin',
    },
    { description: 'a token', command: '<%= config.bin %> login --token-stdin < token.txt' },
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
    const context = await openAccount(flags)
    if (flags['token-stdin']) {
      if (args.username !== undefined || flags.password !== undefined || flags['password-stdin']) {
        throw usage('--token-stdin cannot be combined with a user name or password')
      }
      return saveToken(context)
    }
    const username = await readText(args.username, 'username', flags, 'login alice')
    const password = await readPassword(flags)
    const login = await context.client.login(username, password)
    await saveLogin(context, { username, ...login })
  }
}

async function saveToken(context: AccountContext): Promise<void> {
  const text = await readSecretFromStdin(process.stdin, '--token-stdin')
  const accessToken = parseToken(text.reveal(), '--token-stdin')
  const { username, email, token } = await context.client.me(accessToken)
  const accessExpiresAtMs = parseTime(token?.expires_at) ?? tokenExpiry(accessToken)
  await saveLogin(context, { username, email, accessToken, accessExpiresAtMs })
}
