import { counted } from '../../lib/util/amounts.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import type { EndedAccess } from '../../lib/accounts/answers.ts'
import { notLoggedIn } from '../../lib/accounts/session.ts'
import { connect } from './connect.ts'
import { type AccountFlags, openContext, promptPlace } from './context.ts'
import {
  type PasswordFlags,
  readCodeAndPassword,
  readPasswordChange,
  readText,
  refuseCodeArgument,
} from './password.ts'
import { reportLogin, saveLogin } from './save-login.ts'

interface ChangePasswordFlags extends AccountFlags, PasswordFlags {
  readonly code?: boolean
}

/** Changes the password of the login in use, or sets a new one with a code and logs in. */
export async function changePassword(
  username: string | undefined,
  { code: isReset, ...flags }: ChangePasswordFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  refuseCodeArgument(username)
  if (isReset === true) return resetPassword(username, flags, env)
  if (username !== undefined) {
    throw usage(
      'a user name requires --code',
      'without it the command changes the password of the login in use; see service-cli whoami',
    )
  }
  const context = await openContext(flags, env)
  // Before the user types two passwords.
  if (context.choice === null) throw notLoggedIn(context.server)
  const { current, next } = await readPasswordChange(flags, promptPlace(flags))
  const { client, withToken } = connect(context)
  await withToken(token => client.changePassword(token, { current, next })).catch(explainWrong)
  const { output, server, choice } = context
  const { source, name } = choice
  await output.result('', { registry: server.url, changed: true, source, source_name: name })
  output.note(`the password at ${server.url} is changed; every other login has ended`)
}

async function resetPassword(
  username: string | undefined,
  flags: Omit<ChangePasswordFlags, 'code'>,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  if (flags.token !== undefined && flags.token !== '') {
    throw usage('password --code takes no --token', 'the code says that you may; leave --token out')
  }
  const context = await openContext(flags, env, { savesLogin: true })
  const place = promptPlace(flags)
  const who = await readText(username, {
    place,
    what: 'username',
    otherWays: 'write it as in service-cli password alice --code --password-stdin',
  })
  const { output } = context
  const asked = { what: 'reset code', flag: '--code' }
  const { code, password } = await readCodeAndPassword(asked, flags, place)
  const { client } = connect(context)
  const ended = await client.resetPassword({ username: who, code, password }).catch(explainCode)
  // Before the login, which may fail: these lines cannot be had again.
  output.note(`the password of ${who} is set; ${endedText(ended)} ended`)
  for (const { id, name } of ended.tokens) output.note(`ended service token "${name}" (${id})`)
  const login = { username: who, password }
  try {
    const tokens = await client.login(login)
    const me = await saveLogin(context, {
      client,
      tokens,
      typed: { username: who },
      earlierEnded: true,
    })
    await reportLogin(context, me, tokens, {
      ended_sessions: ended.sessions ?? null,
      ended_tokens: ended.tokens.map(({ id, name }) => ({ id, name })),
    })
  } catch (error) {
    throw setButNotLoggedIn(error, who)
  }
}

function endedText({ sessions, tokens }: EndedAccess): string {
  const logins = sessions === undefined ? 'every earlier login' : counted(sessions, 'login')
  return `${logins} and ${counted(tokens.length, 'service token')}`
}

function explainWrong(error: unknown): never {
  throw isCredentials(error)
    ? withHint(
        error,
        'nothing has changed; for a lost password, ask the operator of the accounts server for a reset code',
      )
    : error
}

function explainCode(error: unknown): never {
  throw isCredentials(error)
    ? withHint(error, 'nothing has changed; the operator of the accounts server makes a new code')
    : error
}

/** The code is used up: without this, the same command would be tried again. */
function setButNotLoggedIn(error: unknown, username: string): unknown {
  if (!(error instanceof ServiceError)) return error
  const message = `the new password is set, but you are not logged in: ${error.message}`
  return withHint(error, `log in with service-cli login ${username}`, message)
}

function isCredentials(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.data?.reason === 'invalid-credentials'
}

function withHint({ code, message, data }: ServiceError, hint: string, words = message): Error {
  return new ServiceError(code, words, { hint, data })
}
