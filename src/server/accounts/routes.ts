import { randomBytes, randomUUID } from 'node:crypto'
import type { Context, Hono } from 'hono'
import { apiPrefix, type RegistrationMode } from '../../lib/accounts/protocol.ts'
import * as wire from '../../lib/accounts/wire.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { hashOfSecret } from '../../lib/util/secret.ts'
import { isUuid } from '../../lib/util/text.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import type { LoginLimits } from './login-limits.ts'
import { type AccountsEnv, authenticate, describe, jsonBody, requireLogin } from './middleware.ts'
import { findPasswordFlaw, type Passwords } from './passwords.ts'
import { AccountsProblem } from './problems.ts'
import type { AccountAuditEntry, NewAccount, NewServiceToken } from './schema.ts'
import type { AccountStore } from './store.ts'
import { type Principal, scopesOf, serviceTokenPrefix, type Tokens } from './tokens.ts'

const defaultTokenDays = 90
const dayMs = 24 * 60 * 60 * 1000

const wrongLogin = 'the user name or the password is wrong'

/** What the routes work with. */
export interface Services {
  store: AccountStore
  tokens: Tokens
  passwords: Passwords
  loginLimits: LoginLimits
  registration: RegistrationMode
  /** Only this machine reaches the server: passwords may be common, registrations do not count. */
  local: boolean
  log: Logger
}

/** Registration, login, and all else about an account, its sessions and its service tokens. */
export function addRoutes(app: Hono<AccountsEnv>, services: Services): void {
  const { store, tokens, passwords, loginLimits, registration, local, log } = services
  const api = app.basePath(apiPrefix)

  api.post(
    '/register',
    describe('Create an account and log in', { answer: wire.loginResponse, status: 201 }),
    jsonBody(wire.registerRequest),
    async c => {
      const body = c.req.valid('json')
      const codeHash = await admitRegistration(c, body)
      await refuseGuessable('/password', body.password, body)
      if (!local) await loginLimits.count(c.env.call.peer)
      const email = body.email.normalize('NFC')
      const account: NewAccount = {
        id: randomUUID(),
        username: body.username,
        usernameKey: wire.accountKey(body.username),
        email,
        emailKey: wire.accountKey(email),
        passwordHash: await passwords.hash(body.password),
        createdAtMs: Date.now(),
      }
      const { session, refreshToken } = tokens.newSession(account.id)
      const outcome = await store.createAccount(account, session, codeHash)
      if (outcome === 'taken') {
        const message = 'there is an account with this user name or email address already'
        throw new AccountsProblem('account-exists', message)
      }
      if (outcome === 'code_invalid') throw await refusedInvite(c)
      c.env.call.principal = account.id
      await audit(c, 'account.registered', { username: account.username })
      c.header('Location', `${apiPrefix}/me`)
      const issued = await tokens.issueTokens(session, refreshToken)
      return c.json({ ...issued, account: accountView(account) }, 201)
    },
  )

  api.post(
    '/login',
    describe('Log in with user name, or email address, and password', {
      answer: wire.loginResponse,
    }),
    jsonBody(wire.loginRequest),
    async c => {
      const { username, password } = c.req.valid('json')
      const name = wire.accountKey(username)
      const account = await store.findAccount(name)
      // An unknown name takes the same time.
      const isRight = await tryPassword(c, name, password, account?.passwordHash ?? null)
      if (!isRight || account === null) {
        // Not the name: what people type there by mistake is the password.
        await audit(c, 'login.failed', {}, account?.id)
        throw new AccountsProblem('invalid-credentials', wrongLogin)
      }
      c.env.call.principal = account.id
      if (account.disabledAtMs !== null) {
        await audit(c, 'login.disabled')
        const message = 'this account is disabled; ask the operator of the accounts server'
        throw new AccountsProblem('account-disabled', message)
      }
      const { session, refreshToken } = tokens.newSession(account.id)
      if (!(await store.createSession(session, account.passwordHash))) {
        throw new AccountsProblem('invalid-credentials', wrongLogin)
      }
      await audit(c, 'login.ok', { session_id: session.id })
      const issued = await tokens.issueTokens(session, refreshToken)
      return c.json({ ...issued, account: accountView(account) })
    },
  )

  api.post(
    '/refresh',
    describe('Get a fresh token for the one presented', {
      answer: wire.tokenResponse,
      token: true,
    }),
    jsonBody(wire.refreshRequest),
    async c => {
      const { refresh_token: presented } = c.req.valid('json')
      if (presented === undefined) {
        const { session } = await authenticate(c, tokens)
        if (session !== null) return c.json(await tokens.issueTokens(session))
        const message = 'a service token cannot be refreshed; create a new one when it expires'
        throw new AccountsProblem('token-invalid', message)
      }
      const { session, refreshToken } = await tokens.rotate(presented)
      c.env.call.principal = session.accountId
      if (refreshToken !== null) return c.json(await tokens.issueTokens(session, refreshToken))
      await audit(c, 'refresh.reused', { session_id: session.id })
      const message =
        'this refresh token was used before and may have been copied, so the session has ended; log in again'
      throw new AccountsProblem('refresh-reused', message)
    },
  )

  api.get(
    '/me',
    describe('Whose token this is', { answer: wire.meResponse, token: true }),
    async c => c.json(meView(await authenticate(c, tokens))),
  )

  api.post(
    '/logout',
    describe('End this session, or every session of the account', { token: true }),
    requireLogin(tokens),
    jsonBody(wire.logoutRequest),
    async c => {
      const { account, session } = c.var
      const { all = false } = c.req.valid('json')
      await store.endSessions(all ? { accountId: account.id } : { id: session.id })
      await audit(c, all ? 'logout.all' : 'logout', { session_id: session.id })
      return c.body(null, 204)
    },
  )

  api.put(
    '/password',
    describe('Change the password; every other session ends', { token: true }),
    requireLogin(tokens),
    jsonBody(wire.passwordRequest),
    async c => {
      const { current_password: password, new_password: next } = c.req.valid('json')
      const { account, session } = c.var
      if (!(await tryPassword(c, session.id, password, account.passwordHash))) {
        await audit(c, 'password.change_failed')
        throw new AccountsProblem('invalid-credentials', 'the current password is wrong')
      }
      await refuseGuessable('/new_password', next, account)
      const newHash = await passwords.hash(next)
      if (!(await store.changePassword(account, newHash, session.id))) {
        const message = 'the password was changed by another request'
        throw new AccountsProblem('invalid-credentials', message)
      }
      await audit(c, 'password.changed')
      return c.body(null, 204)
    },
  )

  api.post(
    '/reset',
    describe('Set a new password with a code; every session and service token ends', {
      answer: wire.resetResponse,
    }),
    jsonBody(wire.resetRequest),
    async c => {
      const { username, code, new_password: password } = c.req.valid('json')
      const name = wire.accountKey(username)
      const codeHash = hashOfSecret(code)
      // By the code alone: a look-up of the name would take longer for one that exists.
      const usernameKey = await store.findCode(codeHash, Date.now())
      const account = usernameKey === null ? null : await store.findAccount(usernameKey)
      let ended = null
      if (account !== null && [account.usernameKey, account.emailKey].includes(name)) {
        // Only now: what is wrong with a password tells of the name and the address.
        await refuseGuessable('/new_password', password, account)
        // Before the code is used up: what fails here must not cost it.
        const newHash = await passwords.hash(password)
        await loginLimits.clear([account.usernameKey, account.emailKey], c.env.call.peer)
        ended = await store.resetPassword(account, codeHash, newHash, Date.now())
      }
      if (account === null || ended === null) {
        await loginLimits.count(c.env.call.peer)
        await audit(c, 'password.reset_failed', {}, account?.id)
        const message = 'the user name or the code is wrong, or the code was used or has expired'
        throw new AccountsProblem('invalid-credentials', message)
      }
      c.env.call.principal = account.id
      await audit(c, 'password.reset')
      const ended_tokens = ended.tokens.map(serviceTokenView)
      return c.json({ ended_sessions: ended.sessions, ended_tokens })
    },
  )

  api.post(
    '/tokens',
    describe('Make a service token; this answer alone shows it', {
      answer: wire.tokenCreatedResponse,
      status: 201,
      token: true,
    }),
    requireLogin(tokens),
    jsonBody(wire.tokenRequest),
    async c => {
      const { name, scopes = ['read', 'publish'], expires_in_days } = c.req.valid('json')
      const secret = serviceTokenPrefix + randomBytes(30).toString('base64url')
      const createdAtMs = Date.now()
      const token: NewServiceToken = {
        id: randomUUID(),
        accountId: c.var.account.id,
        name,
        secretHash: hashOfSecret(secret),
        scopes: scopes.join(' '),
        createdAtMs,
        expiresAtMs: createdAtMs + (expires_in_days ?? defaultTokenDays) * dayMs,
      }
      if (!(await store.createServiceToken(token, c.var.session.id))) {
        throw new AccountsProblem('token-revoked', 'the session has ended; log in again')
      }
      await audit(c, 'token.created', { token_id: token.id, name, scopes: token.scopes })
      return c.json({ ...serviceTokenView(token), token: secret }, 201)
    },
  )

  api.get(
    '/tokens',
    describe('The service tokens of the account', { answer: wire.tokensResponse, token: true }),
    requireLogin(tokens),
    async c => {
      const rows = await store.listServiceTokens(c.var.account.id, Date.now())
      return c.json({ tokens: rows.map(serviceTokenView) })
    },
  )

  api.delete(
    '/tokens/:id',
    describe('Revoke a service token', { token: true }),
    requireLogin(tokens),
    async c => {
      const id = c.req.param('id')
      if (!isUuid(id) || !(await store.revokeServiceToken(c.var.account.id, id))) {
        throw new AccountsProblem('not-found', 'the account has no such service token')
      }
      await audit(c, 'token.revoked', { token_id: id })
      return c.body(null, 204)
    },
  )

  /** Stores what a caller did. It has happened, so a failure to store it is logged, not thrown. */
  async function audit(
    c: Context<AccountsEnv>,
    action: string,
    details: AccountAuditEntry['details'] = {},
    accountId = c.env.call.principal || null,
  ): Promise<void> {
    const { peer: address } = c.env.call
    const row = { atMs: Date.now(), action, accountId, address }
    try {
      await store.audit({ ...row, details })
    } catch (error) {
      log.error({ err: error, action, account_id: accountId }, 'an audit entry was lost')
    }
  }

  /** The counts are looked at in turn, so that many attempts at once do not all pass. */
  function tryPassword(
    c: Context<AccountsEnv>,
    name: string,
    password: string,
    hash: string | null,
  ): Promise<boolean> {
    return passwords.inTurn(() =>
      loginLimits.attempt(name, c.env.call.peer, () => passwords.verify(password, hash)),
    )
  }

  /** Returns the hash of the code to use up; undefined when none is needed. */
  async function admitRegistration(
    c: Context<AccountsEnv>,
    { username, invite }: wire.RegisterRequest,
  ): Promise<string | undefined> {
    if (registration === 'open') return undefined
    if (registration === 'closed') {
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
    if ((await store.findCode(codeHash, Date.now())) !== wire.accountKey(username)) {
      throw await refusedInvite(c)
    }
    return codeHash
  }

  /** A wrong code counts as a failure of the address. */
  async function refusedInvite(c: Context<AccountsEnv>): Promise<AccountsProblem> {
    await loginLimits.count(c.env.call.peer)
    await audit(c, 'registration.refused')
    const message = 'the invitation code is unknown, used, expired or for another user name'
    return new AccountsProblem('registration-closed', message)
  }

  /** Throws `password-blocked`, where others reach the server. */
  async function refuseGuessable(
    pointer: string,
    password: string,
    account: { username: string; email: string },
  ): Promise<void> {
    const flaw = local ? null : await findPasswordFlaw(password, account)
    if (flaw === null) return
    const detail = `${flaw}: choose another`
    const errors = [{ pointer, detail }]
    throw new AccountsProblem('password-blocked', `the password ${detail}`, { errors })
  }
}

function accountView({ id, username, email, createdAtMs }: NewAccount) {
  return { id, username, email, created_at: toRfc3339(createdAtMs) }
}

function meView({ account, scopes, session, token }: Principal): wire.MeResponse {
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

function serviceTokenView(token: NewServiceToken): wire.ServiceTokenView {
  return {
    id: token.id,
    name: token.name,
    scopes: scopesOf(token),
    created_at: toRfc3339(token.createdAtMs),
    expires_at: toRfc3339(token.expiresAtMs),
  }
}
