import { apiPrefix } from '../../../lib/accounts/protocol.ts'
import { registerRequest, type RegisterRequest, loginResponse } from '../../../lib/accounts/wire.ts'
import { tooMany } from '../credentials.ts'
import { foldEmail, foldUsername, isReservedName } from '../names.ts'
import { AccountsProblem } from '../problems.ts'
import { invalidMembers } from '../request-json.ts'
import { type Route, route } from '../route.ts'
import type { AccountServices } from '../services.ts'
import { hashOfSecret } from '../service-tokens.ts'
import { makeUuid } from '../uuid.ts'
import { accountView } from '../views.ts'
import type { Call } from '../call.ts'
import { admitPassword } from '../admit-password.ts'

export function registerRoutes(services: AccountServices): Route[] {
  const { store, audit, refusals, clock, credentials, sessions, local, registrations } = services

  /** The hash of the invitation to use up; undefined when none is needed. */
  async function admittance(
    { username, invite }: RegisterRequest,
    call: Call,
  ): Promise<string | undefined> {
    if (services.registration === 'open') return undefined
    if (services.registration === 'closed') {
      throw new AccountsProblem('registration-closed', 'this accounts server takes no new accounts')
    }
    if (invite === undefined) {
      const message = 'a new account needs an invitation code (member "invite")'
      const detail = 'is required: a new account needs an invitation code'
      throw new AccountsProblem('registration-closed', message, {
        errors: [{ pointer: '/invite', detail }],
      })
    }
    const hash = hashOfSecret(invite)
    // Before anything is counted or hashed: nothing is spent on a caller without an invitation.
    if (!(await store.hasInvite(foldUsername(username), hash, clock.now())))
      throw await refusedInvite(call)
    return hash
  }

  function refuseFlood({ addressKey }: Call): void {
    if (local) return
    const waitMs = registrations.waitMs(addressKey, clock.now())
    if (waitMs > 0) throw tooMany('too many registrations from this address', waitMs)
  }

  function countRegistration({ addressKey }: Call): void {
    if (!local) registrations.add(addressKey, clock.now())
  }

  async function refusedInvite(call: Call): Promise<AccountsProblem> {
    await refusals.record('registration.refused', call, null, { reason: 'invite_invalid' })
    const message = 'the invitation code is unknown, used, expired or for another user name'
    return new AccountsProblem('registration-closed', message)
  }

  async function isTaken(...keys: string[]): Promise<boolean> {
    const found = await Promise.all(keys.map(key => store.findAccount(key)))
    return found.some(account => account !== null)
  }

  async function register(body: RegisterRequest, call: Call) {
    const inviteHash = await admittance(body, call)
    checkName(body)
    await admitPassword(services, '/password', body.password, body)
    refuseFlood(call)
    countRegistration(call)
    const usernameKey = foldUsername(body.username)
    const emailKey = foldEmail(body.email)
    // The store decides again; this spares the hash when the name is taken already.
    if (await isTaken(usernameKey, emailKey)) throw taken()
    const passwordHash = await credentials.hash({
      name: usernameKey,
      password: body.password,
      call,
      proven: inviteHash !== undefined,
    })
    const nowMs = clock.now()
    const account = {
      id: makeUuid(nowMs),
      username: body.username,
      usernameKey,
      email: body.email.normalize('NFC'),
      emailKey,
      passwordHash,
      createdAtMs: nowMs,
    }
    const session = sessions.make(account.id, call)
    const outcome = await store.createAccount(account, { session, inviteHash })
    if (outcome === 'taken') throw taken()
    if (outcome === 'invite_invalid') throw await refusedInvite(call)
    call.principal = account.id
    await audit.record('account.registered', call, account.id, { username: account.username })
    const tokens = await sessions.pair(session, 0, session.createdAtMs)
    return { ...tokens, account: accountView(account) }
  }

  return [
    route({
      method: 'post',
      path: `${apiPrefix}/register`,
      summary: 'Create an account and log in',
      access: 'none',
      body: registerRequest,
      status: 201,
      answer: loginResponse,
      problems: [
        'registration-closed',
        'account-exists',
        'password-blocked',
        'rate-limited',
        'overloaded',
      ],
      headers: { Location: `${apiPrefix}/me` },
      handle: ({ body, call }) => register(body, call),
    }),
  ]
}

function checkName({ username }: RegisterRequest): void {
  if (!isReservedName(username)) return
  throw invalidMembers([{ pointer: '/username', detail: 'is reserved: choose another' }])
}

function taken(): AccountsProblem {
  const message = 'there is an account with this user name or email address already'
  return new AccountsProblem('account-exists', message)
}
