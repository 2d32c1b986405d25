import { randomUUID } from 'node:crypto'
import type { Context, Hono } from 'hono'
import { apiPrefix, type RegistrationMode } from '../../lib/accounts/protocol.ts'
import {
  accountKey,
  loginRequest,
  loginResponse,
  logoutRequest,
  type MeResponse,
  meResponse,
  passwordRequest,
  refreshRequest,
  type RegisterRequest,
  registerRequest,
  resetRequest,
  resetResponse,
  tokenResponse,
} from '../../lib/accounts/wire.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import type { LoginLimits } from './login-limits.ts'
import {
  type AccountsEnv,
  audit,
  describe,
  jsonBody,
  presentedToken,
  requireLogin,
  requireToken,
} from './middleware.ts'
import { findPasswordFlaw, type Passwords } from './passwords.ts'
import { AccountsProblem } from './problems.ts'
import { serviceTokenView } from './service-token-routes.ts'
import type { AccountRow, NewAccount } from './schema.ts'
import type { AccountStore } from './store.ts'
import { hashOfSecret, type Principal, type Tokens } from './tokens.ts'

const wrongLogin = 'the user name or the password is wrong'

/** What the routes work with. */
export interface Services {
  store: AccountStore
  tokens: Tokens
  passwords: Passwords
  loginLimits: LoginLimits
  registration: RegistrationMode
  /**
   * Only this machine reaches the server: common passwords are a warning in the log, and
   * registrations are not counted.
   */
  local: boolean
  log: Logger
}

/** Registration, login and all else about a session and its account. */
export function addAccountRoutes(app: Hono<AccountsEnv>, services: Services): void {
  const { store, tokens, passwords, loginLimits, local, log } = services

  app.post(
    `${apiPrefix}/register`,
    describe('Create an account and log in', { answer: loginResponse, status: 201 }),
    jsonBody(registerRequest),
    async c => {
      const body = c.req.valid('json')
      const codeHash = await admitRegistration(c, body)
      await refuseGuessable('/password', body.password, body)
      if (!local) await loginLimits.countRegistration(c.var.address)
      const email = body.email.normalize('NFC')
      const account: NewAccount = {
        id: randomUUID(),
        username: body.username,
        usernameKey: accountKey(body.username),
        email,
        emailKey: accountKey(email),
        passwordHash: await passwords.hash(body.password),
        createdAtMs: Date.now(),
      }
      const { session, refreshToken } = tokens.newSession(account.id, c.var.address)
      const outcome = await store.createAccount(account, session, codeHash)
      if (outcome === 'taken') {
        const message = 'there is an account with this user name or email address already'
        throw new AccountsProblem('account-exists', message)
      }
      if (outcome === 'code_invalid') throw await refusedInvite(c)
      c.set('accountId', account.id)
      await audit(c, services, 'account.registered', account.id, { username: account.username })
      c.header('Location', `${apiPrefix}/me`)
      const issued = await tokens.issueTokens(session, refreshToken)
      return c.json({ ...issued, account: accountView(account) }, 201)
    },
  )

  app.post(
    `${apiPrefix}/login`,
    describe('Log in with user name, or email address, and password', { answer: loginResponse }),
    jsonBody(loginRequest),
    async c => {
      const { username, password } = c.req.valid('json')
      const name = accountKey(username)
      const account = await store.findAccount(name)
      const passwordHash = await checkPassword(c, name, account, password)
      if (passwordHash === null || account === null) {
        // Not the name: what people type there by mistake is the password.
        await audit(c, services, 'login.failed', account?.id ?? null)
        throw new AccountsProblem('invalid-credentials', wrongLogin)
      }
      c.set('accountId', account.id)
      if (account.disabledAtMs !== null) {
        await audit(c, services, 'login.disabled', account.id)
        const message = 'this account is disabled; ask the operator of the accounts server'
        throw new AccountsProblem('account-disabled', message)
      }
      const { session, refreshToken } = tokens.newSession(account.id, c.var.address)
      if (!(await store.createSession(session, passwordHash))) {
        throw new AccountsProblem('invalid-credentials', wrongLogin)
      }
      await audit(c, services, 'login.ok', account.id, { session_id: session.id })
      const issued = await tokens.issueTokens(session, refreshToken)
      return c.json({ ...issued, account: accountView(account) })
    },
  )

  app.post(
    `${apiPrefix}/refresh`,
    describe('Get a fresh token for the one presented', { answer: tokenResponse, token: true }),
    jsonBody(refreshRequest),
    async c => {
      const presented = c.req.valid('json').refresh_token ?? presentedToken(c)
      const { answer, accountId } = await tokens.refresh(presented, session =>
        audit(c, services, 'refresh.reused', session.accountId, { session_id: session.id }),
      )
      c.set('accountId', accountId)
      return c.json(answer)
    },
  )

  app.get(
    `${apiPrefix}/me`,
    describe('Whose token this is', { answer: meResponse, token: true }),
    requireToken(tokens),
    c => c.json(meView(c.var.principal)),
  )

  app.post(
    `${apiPrefix}/logout`,
    describe('End this session, or every session of the account', { token: true }),
    requireToken(tokens),
    requireLogin,
    jsonBody(logoutRequest),
    async c => {
      const { account, session } = c.var.principal
      if (c.req.valid('json').all === true) {
        const ended = await store.endSessions(account.id, Date.now())
        await audit(c, services, 'logout.all', account.id, { ended })
      } else if (session !== null) {
        await store.endSession(account.id, session.id, Date.now())
        await audit(c, services, 'logout', account.id, { session_id: session.id })
      }
      return c.body(null, 204)
    },
  )

  app.put(
    `${apiPrefix}/password`,
    describe('Change the password; every other session ends', { token: true }),
    requireToken(tokens),
    requireLogin,
    jsonBody(passwordRequest),
    async c => {
      const { current_password: password, new_password: next } = c.req.valid('json')
      const { account, session } = c.var.principal
      const oldHash = await checkPassword(c, session?.id ?? account.id, account, password)
      if (oldHash === null) {
        await audit(c, services, 'password.change_failed', account.id)
        throw new AccountsProblem('invalid-credentials', 'the current password is wrong')
      }
      await refuseGuessable('/new_password', next, account)
      const changed = await store.changePassword({
        id: account.id,
        oldHash,
        newHash: await passwords.hash(next),
        keepSessionId: session?.id ?? null,
        endTokens: false,
        nowMs: Date.now(),
      })
      if (changed === null) {
        const message = 'the password was changed by another request'
        throw new AccountsProblem('invalid-credentials', message)
      }
      await audit(c, services, 'password.changed', account.id)
      return c.body(null, 204)
    },
  )

  app.post(
    `${apiPrefix}/reset`,
    describe('Set a new password with a code; every session and service token ends', {
      answer: resetResponse,
    }),
    jsonBody(resetRequest),
    async c => {
      const { username, code, new_password: password } = c.req.valid('json')
      const name = accountKey(username)
      const codeHash = hashOfSecret(code)
      // By the code alone: a look-up of the name would take longer for one that exists.
      const usernameKey = await store.findCode(codeHash, Date.now())
      const account = usernameKey === null ? null : await store.findAccount(usernameKey)
      if (
        account === null ||
        account.disabledAtMs !== null ||
        ![account.usernameKey, account.emailKey].includes(name)
      ) {
        throw await refusedReset(c, account)
      }
      // Only now: what is wrong with a password tells of the name and the address.
      await refuseGuessable('/new_password', password, account)
      // Before the code is used up: a server too busy to hash must not cost it.
      const newHash = await passwords.hash(password)
      const nowMs = Date.now()
      if (!(await store.useCode(account.usernameKey, codeHash, nowMs))) {
        throw await refusedReset(c, account)
      }
      const { id } = account
      const change = { id, oldHash: null, newHash, keepSessionId: null, endTokens: true, nowMs }
      const ended = await store.changePassword(change)
      // The account was just deleted.
      if (ended === null) throw await refusedReset(c, account)
      await loginLimits.clear(name, c.var.address)
      c.set('accountId', id)
      const counts = { ended_sessions: ended.sessions, ended_tokens: ended.tokens.length }
      await audit(c, services, 'password.reset', id, counts)
      const ended_tokens = ended.tokens.map(serviceTokenView)
      return c.json({ ended_sessions: ended.sessions, ended_tokens })
    },
  )

  /** Returns the hash of the code to use up; undefined when none is needed. */
  async function admitRegistration(
    c: Context<AccountsEnv>,
    { username, invite }: RegisterRequest,
  ): Promise<string | undefined> {
    if (services.registration === 'open') return undefined
    if (services.registration === 'closed') {
      throw new AccountsProblem('registration-closed', 'this accounts server takes no new accounts')
    }
    if (invite === undefined) {
      const message = 'a new account needs an invitation code (member "invite")'
      const detail = 'is required: a new account needs an invitation code'
      const errors = [{ pointer: '/invite', detail }]
      throw new AccountsProblem('registration-closed', message, { errors })
    }
    const codeHash = hashOfSecret(invite)
    // Before anything is hashed: nothing is spent on a caller without a code.
    if ((await store.findCode(codeHash, Date.now())) !== accountKey(username)) {
      throw await refusedInvite(c)
    }
    return codeHash
  }

  /** A wrong code counts as a failure of the address. */
  async function refusedInvite(c: Context<AccountsEnv>): Promise<AccountsProblem> {
    await loginLimits.countWrongCode(c.var.address)
    await audit(c, services, 'registration.refused', null)
    const message = 'the invitation code is unknown, used, expired or for another user name'
    return new AccountsProblem('registration-closed', message)
  }

  async function refusedReset(
    c: Context<AccountsEnv>,
    account: AccountRow | null,
  ): Promise<AccountsProblem> {
    await loginLimits.countWrongCode(c.var.address)
    await audit(c, services, 'password.reset_failed', account?.id ?? null)
    const message = 'the user name or the code is wrong, or the code was used or has expired'
    return new AccountsProblem('invalid-credentials', message)
  }

  /**
   * Returns the stored hash of the password; null when it is wrong. Failures count for `name`. An
   * unknown account costs the same.
   */
  function checkPassword(
    c: Context<AccountsEnv>,
    name: string,
    account: AccountRow | null,
    password: string,
  ): Promise<string | null> {
    return loginLimits.attempt(name, c.var.address, async () => {
      const isRight = await passwords.verify(password, account?.passwordHash ?? null)
      return isRight && account !== null ? rehashIfOutdated(account, password) : null
    })
  }

  async function rehashIfOutdated(account: AccountRow, password: string): Promise<string> {
    const { id, passwordHash } = account
    if (!passwords.isOutdated(passwordHash)) return passwordHash
    const better = await passwords.hash(password)
    return (await store.replaceHash(id, passwordHash, better)) ? better : passwordHash
  }

  /** Throws `password-blocked`; where only this machine reaches the server, logs a warning. */
  async function refuseGuessable(
    pointer: string,
    password: string,
    account: { username: string; email: string },
  ): Promise<void> {
    const flaw = await findPasswordFlaw(password, account)
    if (flaw === null) return
    if (local) {
      const { username } = account
      log.warn({ username, flaw }, 'an account was given a password that is easy to guess')
      return
    }
    const detail = `${flaw}: choose another`
    const errors = [{ pointer, detail }]
    throw new AccountsProblem('password-blocked', `the password ${detail}`, { errors })
  }
}

function accountView({ id, username, email, createdAtMs }: NewAccount) {
  return { id, username, email, created_at: toRfc3339(createdAtMs) }
}

function meView({ account, scopes, session, token }: Principal): MeResponse {
  return {
    ...accountView(account),
    team: account.team,
    scopes,
    session: session && {
      id: session.id,
      created_at: toRfc3339(session.createdAtMs),
      expires_at: toRfc3339(session.expiresAtMs),
    },
    token: token && { id: token.id, name: token.name, expires_at: toRfc3339(token.expiresAtMs) },
  }
}
