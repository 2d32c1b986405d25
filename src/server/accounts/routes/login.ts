import { apiPrefix, wrongLogin } from '../../../lib/accounts/protocol.ts'
import {
  loginRequest,
  type LoginRequest,
  loginResponse,
  type LoginResponse,
  refreshRequest,
  tokenResponse,
} from '../../../lib/accounts/wire.ts'
import type { Call } from '../call.ts'
import { foldLogin } from '../names.ts'
import { AccountsProblem } from '../problems.ts'
import { type Route, route } from '../route.ts'
import type { AccountServices } from '../services.ts'
import { accountView } from '../views.ts'

export function loginRoutes(services: AccountServices): Route[] {
  const { store, audit, refusals, credentials, sessions, refresher } = services

  async function login({ username, password }: LoginRequest, call: Call): Promise<LoginResponse> {
    const name = foldLogin(username)
    const account = await store.findAccount(name)
    const trial = { name, account, password, call, session: null }
    const passwordHash = await credentials.check(trial)
    if (passwordHash === null || account === null) {
      // Not the name: what people type there by mistake is the password.
      await refusals.record('login.failed', call, account?.id ?? null)
      throw wrongCredentials()
    }
    call.principal = account.id
    if (account.disabledAtMs !== null) {
      await audit.record('login.disabled', call, account.id)
      const message = 'this account is disabled; ask the operator of the accounts server'
      throw new AccountsProblem('account-disabled', message)
    }
    const session = await sessions.open(account.id, passwordHash, call)
    if (session === null) throw wrongCredentials()
    await audit.record('login.ok', call, account.id, { session_id: session.id })
    const tokens = await sessions.pair(session, 0, session.createdAtMs)
    return { ...tokens, account: accountView(account) }
  }

  return [
    route({
      method: 'post',
      path: `${apiPrefix}/login`,
      summary: 'Log in with user name, or email address, and password',
      access: 'none',
      body: loginRequest,
      answer: loginResponse,
      problems: ['invalid-credentials', 'account-disabled', 'rate-limited', 'overloaded'],
      handle: ({ body, call }) => login(body, call),
    }),
    route({
      method: 'post',
      path: `${apiPrefix}/refresh`,
      summary: 'Get a fresh token for the one presented',
      access: 'optional',
      body: refreshRequest,
      answer: tokenResponse,
      problems: ['refresh-reused', 'overloaded'],
      handle: ({ body, call }) => refresher.refresh(call, body?.refresh_token),
    }),
  ]
}

/** The same whether the name is unknown or the password wrong. */
function wrongCredentials(): AccountsProblem {
  return new AccountsProblem('invalid-credentials', wrongLogin)
}
