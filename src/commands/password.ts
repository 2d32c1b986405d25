import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { TokenCommand } from '../lib/cli/base-command.ts'
import { counted } from '../lib/util/amounts.ts'
import { usage } from '../lib/util/errors.ts'
import { type AccountFlags, openAccount, openToken, saveLogin } from './account-context.ts'
import {
  type InputFlags,
  inputFlags,
  readSecretAndPassword,
  readText,
  withNewPassword,
} from './password-input.ts'

export default class Password extends TokenCommand {
  static override summary = 'Change your password, or set a new one with a reset code'
  static override description = `Ends every other login of the account; service tokens stay valid. \
With --code, a code from the operator takes the place of the current password, and every login and \
service token ends.`
  static override examples = [
    '<%= config.bin %> password',
    'cat passwords.txt | <%= config.bin %> password --password-stdin',
    '<%= config.bin %> password alice --code',
  ]

  static override args = {
    username: Args.string({ ignoreStdin: true, description: 'with --code: name or email address' }),
  }

  static override flags = {
    ...inputFlags,
    code: Flags.boolean({ description: 'set a new password with a code from the operator' }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Password)
    if (flags.code) return reset(args.username, flags)
    if (args.username !== undefined) {
      const hint = 'without it the password of the login in use is changed'
      throw usage('a user name requires --code', hint)
    }
    const { client, server, output, source, withToken } = await openToken(flags)
    const [current, given] = await readSecretAndPassword('Current password', flags)
    await withNewPassword(given, flags, next =>
      withToken(token => client.changePassword(token, current, next)),
    )
    await output.result('', { registry: server.url, changed: true, ...source })
    output.note(`the password at ${server.url} is changed; every other login has ended`)
  }
}

async function reset(typed: string | undefined, flags: AccountFlags & InputFlags): Promise<void> {
  if (flags.token) throw usage('password --code takes no --token', 'the code says that you may')
  const context = await openAccount(flags)
  const { client, output } = context
  const username = await readText(typed, 'Username', flags, 'password alice --code')
  const [code, given] = await readSecretAndPassword('Reset code', flags)
  await withNewPassword(given, flags, async password => {
    const { ended_sessions, ended_tokens } = await client.resetPassword(username, code, password)
    const tokens = ended_tokens.map(({ id, name }) => ({ id, name }))
    // Before the login, which may fail: these lines cannot be had again.
    output.note(`the password of ${username} is set`)
    if (ended_sessions > 0) output.note(`${counted(ended_sessions, 'login')} ended`)
    for (const { id, name } of tokens) output.note(`ended service token "${name}" (${id})`)
    const login = { username, ...(await client.login(username, password)) }
    await saveLogin(context, login, { ended_sessions, ended_tokens: tokens })
  })
}
