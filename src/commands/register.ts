import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { AccountCommand } from '../lib/cli/base-command.ts'
import { ServiceError } from '../lib/util/errors.ts'
import type { Secret } from '../lib/util/secret.ts'
import { openAccount, saveLogin } from './account-context.ts'
import {
  askSecret,
  readGivenPassword,
  readText,
  withNewPassword,
  passwordFlags,
} from './password-input.ts'

const example = 'register alice --email alice@studio.example'
const codeHint =
  'the operator makes one with service-cli registry users add; service-cli register asks for it in a terminal'

export default class Register extends AccountCommand {
  static override summary = 'Create an account at an accounts server, and log in'
  static override description = `Prompts for missing values: the password twice, without showing it, \
and an invitation code when the accounts server requires one.`
  static override examples = [`<%= config.bin %> ${example}`]

  static override args = {
    username: Args.string({ ignoreStdin: true, description: 'the name of the account' }),
  }

  static override flags = {
    email: Flags.string({ description: 'your email address', helpValue: 'EMAIL' }),
    ...passwordFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Register)
    const context = await openAccount(flags)
    const { client, output } = context
    const username = await readText(args.username, 'Username', flags, example)
    const email = await readText(flags.email, 'Email', flags, example)
    let invite: Secret | undefined
    const login = await withNewPassword(await readGivenPassword(flags), flags, async password => {
      const names = { username, email }
      const made = await client.register(names, password, invite).catch(async error => {
        if (invite !== undefined || !needsCode(error)) throw error
        invite = await askSecret(flags, 'Invitation code', codeHint)
        return client.register(names, password, invite)
      })
      output.note(`registered ${username}`)
      return made
    })
    await saveLogin(context, { username, email, ...login })
  }
}

function needsCode(error: unknown): boolean {
  const errors = error instanceof ServiceError ? error.data?.['errors'] : undefined
  return Array.isArray(errors) && errors.some(({ pointer }) => pointer === '/invite')
}
