import { parseTime } from '../../lib/util/time.ts'
import { readSecretFromStdin } from '../../lib/cli/secret-input.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Tokens } from '../../lib/accounts/answers.ts'
import { readJwtExpiry } from '../../lib/accounts/refresh-need.ts'
import { checkTokenText } from '../../lib/accounts/token-source.ts'
import { Secret } from '../../lib/util/secret.ts'
import { connect } from './connect.ts'
import { type AccountContext, type AccountFlags, openContext, promptPlace } from './context.ts'
import { type PasswordFlags, checkPasswordFlags, readPassword, readText } from './password.ts'
import { reportLogin, saveLogin, saveTokens } from './save-login.ts'

interface LoginFlags extends AccountFlags, PasswordFlags {
  readonly 'token-stdin'?: boolean
}

/** Logs in with a password or a token from a pipe; saves it once the accounts server accepts it. */
export async function login(
  username: string | undefined,
  flags: LoginFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  checkPasswordFlags(flags)
  const context = await openContext(flags, env, { savesLogin: true })
  if (flags['token-stdin'] === true) return loginWithToken(username, flags, context)
  const place = promptPlace(flags)
  const who = await readText(username, {
    place,
    what: 'username',
    otherWays: 'write it as in service-cli login alice --password-stdin',
  })
  const password = await readPassword(flags, { output: context.output, place, isNew: false })
  const { client } = connect(context)
  const tokens = await client.login({ username: who, password }).catch(explainRefusal)
  const me = await saveLogin(context, { client, tokens, typed: { username: who } })
  await reportLogin(context, me, tokens)
}

function explainRefusal(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== 'auth_refused') throw error
  const { code, message, data } = error
  throw new ServiceError(code, message, {
    hint: 'check the user name, the password and the accounts server; what was saved stays as it was',
    data,
  })
}

async function loginWithToken(
  username: string | undefined,
  flags: LoginFlags,
  context: AccountContext,
): Promise<void> {
  if (username !== undefined || flags['password-stdin'] === true || flags.password !== undefined) {
    throw new ServiceError(
      'usage_invalid',
      '--token-stdin cannot be combined with a user name or password',
      { hint: 'the token names the account' },
    )
  }
  const read = await readSecretFromStdin(process.stdin, '--token-stdin')
  const accessToken = new Secret(checkTokenText(read.reveal(), '--token-stdin'))
  const { client } = connect(context)
  const me = await client.me(accessToken)
  const tokens: Tokens = {
    accessToken,
    accessExpiresAtMs:
      parseTime(me.token?.expires_at) ?? readJwtExpiry(accessToken.reveal()) ?? undefined,
    refreshToken: undefined,
    refreshExpiresAtMs: undefined,
  }
  await saveTokens(context, me, tokens)
  await reportLogin(context, me, tokens)
}
