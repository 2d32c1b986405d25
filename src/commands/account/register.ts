import { ServiceError } from '../../lib/errors.ts'
import { Secret } from '../../lib/secret.ts'
import { connect } from './connect.ts'
import type { AccountFlags } from './context.ts'
import { openHere, promptPlace } from './here.ts'
import { type PasswordFlags, checkPasswordFlags, readPassword, readText } from './password.ts'
import { refuseToken } from './refuse-token.ts'
import { reportLogin, saveLogin } from './save-login.ts'

export interface RegisterFlags extends AccountFlags, PasswordFlags {
  readonly email?: string | undefined
  readonly invite?: string | undefined
}

/** Makes an account and logs in to it. */
export async function register(
  username: string | undefined,
  flags: RegisterFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  refuseToken(flags, 'register')
  checkPasswordFlags(flags)
  if (flags.invite === '') {
    throw new ServiceError('usage_invalid', '--invite is empty', {
      hint: 'a variable in your shell may be unset',
    })
  }
  const context = await openHere(flags, env)
  const place = promptPlace(flags)
  const otherWays = 'write it as in service-cli register alice --email alice@studio.example'
  const who = await readText(username, { place, what: 'username', otherWays })
  const email = await readText(flags.email, { place, what: 'email', otherWays })
  const password = await readPassword(flags, { output: context.output, place, isNew: true })
  const { client } = connect(context)
  const invite = flags.invite === undefined ? undefined : new Secret(flags.invite)
  const account = { username: who, email, password, invite }
  const tokens = await client.register(account).catch(explainClosed)
  const me = await saveLogin(context, { client, tokens, typed: { username: who, email } })
  context.output.note(`registered ${me.username}`)
  reportLogin(context, me, tokens)
}

/** The registry speaks of its own interface; here the invitation is a flag. */
function explainClosed(error: unknown): never {
  if (!(error instanceof ServiceError) || error.data?.reason !== 'registration-closed') throw error
  throw new ServiceError(error.code, error.message, {
    hint: 'ask the owner of the registry for an invitation, and give its code with --invite',
    data: error.data,
  })
}
