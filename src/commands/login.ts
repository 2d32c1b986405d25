import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AccountCommand } from '../lib/cli/base-command.ts'
import { tokenExpiry } from '../lib/auth/validate-bearer-token.ts'
import { parseSecret } from '../lib/auth/secret-file.ts'
import { readSecretFromStdin } from '../lib/cli/secret-input.ts'
import { usage } from '../lib/util/errors.ts'
import { Secret } from '../lib/util/secret.ts'
import { type AccountContext, openAccount, saveLogin } from './account-context.ts'
import { readPassword, readText, passwordFlags } from './password-input.ts'

export default class Login extends AccountCommand {
  static override summary = 'Log in to an accounts server'
  static override description = `Prompts for the password without showing it, and saves the token in \
~/.config/service-cli/config.toml, which only you can read.`
  static override examples = [
    '<%= config.bin %> login alice',
    'pass show registry | <%= config.bin %> login alice --password-stdin',
  ]

  static override args = {
    // Else the parser would take the secret on stdin for the name.
    username: Args.string({ ignoreStdin: true, description: 'your user name, or email address' }),
  }

  static override flags = {
    ...passwordFlags,
    'token-stdin': Flags.boolean({ description: 'read a token from stdin and save it' }),
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
    const username = await readText(args.username, 'Username', flags, 'login alice')
    const login = await context.client.login(username, await readPassword(flags))
    await saveLogin(context, { username, ...login })
  }
}

async function saveToken(context: AccountContext): Promise<void> {
  const text = await readSecretFromStdin(process.stdin, '--token-stdin')
  const access_token = new Secret(parseSecret(text.reveal(), '--token-stdin'))
  const { username, email } = await context.client.me(access_token)
  // A service token says no end and is never refreshed.
  const access_expires_at = tokenExpiry(access_token)
  await saveLogin(context, { username, email, access_token, access_expires_at })
}
