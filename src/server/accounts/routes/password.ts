import { apiPrefix } from '../../../lib/accounts/protocol.ts'
import {
  passwordRequest,
  type PasswordRequest,
  resetRequest,
  type ResetRequest,
  resetResponse,
  type ResetResponse,
} from '../../../lib/accounts/wire.ts'
import { admitPassword } from '../admit-password.ts'
import type { Principal } from '../authenticate.ts'
import type { Call } from '../call.ts'
import { foldLogin } from '../names.ts'
import { AccountsProblem } from '../problems.ts'
import { type Route, route } from '../route.ts'
import type { AccountServices } from '../services.ts'
import { hashOfSecret } from '../service-tokens.ts'
import { serviceTokenView } from '../views.ts'

export function passwordRoutes(services: AccountServices): Route[] {
  const { store, audit, refusals, clock, credentials } = services

  async function change(body: PasswordRequest, principal: Principal, call: Call): Promise<void> {
    const { account, session } = principal
    const name = account.usernameKey
    const trial = { name, account, password: body.current_password, call, session }
    const oldHash = await credentials.check(trial)
    if (oldHash === null) {
      await audit.record('password.change_failed', call, account.id)
      throw new AccountsProblem('invalid-credentials', 'the current password is wrong')
    }
    await admitPassword(services, '/new_password', body.new_password, account)
    const newHash = await credentials.hash({
      name,
      password: body.new_password,
      call,
      proven: true,
    })
    const changed = await store.changePassword({
      id: account.id,
      oldHash,
      newHash,
      keepSessionId: session?.id ?? null,
      endTokens: false,
      nowMs: clock.now(),
    })
    if (changed === null) {
      throw new AccountsProblem(
        'invalid-credentials',
        'the password was changed by another request',
      )
    }
    await audit.record('password.changed', call, account.id)
  }

  async function refusedReset(call: Call, accountId: string | null): Promise<AccountsProblem> {
    await refusals.record('password.reset_failed', call, accountId)
    const message = 'the user name or the reset code is wrong, or the code was used or is too old'
    return new AccountsProblem('invalid-credentials', message)
  }

  async function reset(body: ResetRequest, call: Call): Promise<ResetResponse> {
    const { username, code, new_password } = body
    const codeHash = hashOfSecret(code)
    // By the code alone: a look-up of the name would take longer for one that exists. Codes are
    // 160 random bits, so wrong ones need no count.
    const account = await store.findByResetCode(codeHash, clock.now())
    const name = foldLogin(username)
    const mayReset =
      account !== null &&
      account.disabledAtMs === null &&
      [account.usernameKey, account.emailKey].includes(name)
    if (!mayReset) throw await refusedReset(call, account?.id ?? null)
    // Only now: what is wrong with a password tells of the name and the address.
    await admitPassword(services, '/new_password', new_password, account)
    // Before the code is used up: a server too busy to hash must not cost it.
    const newHash = await credentials.hash({ name, password: new_password, call, proven: true })
    const { id } = account
    const nowMs = clock.now()
    if (!(await store.useResetCode(id, codeHash, nowMs))) throw await refusedReset(call, id)
    const change = { id, oldHash: null, newHash, keepSessionId: null, endTokens: true }
    const ended = await store.changePassword({ ...change, nowMs })
    // The account was just deleted.
    if (ended === null) throw await refusedReset(call, id)
    const { sessions, tokens } = ended
    call.principal = id
    const counts = { ended_sessions: sessions, ended_tokens: tokens.length }
    await audit.record('password.reset', call, id, counts)
    return { ended_sessions: sessions, ended_tokens: tokens.map(serviceTokenView) }
  }

  return [
    route({
      method: 'put',
      path: `${apiPrefix}/password`,
      summary: 'Change the password; every other session ends',
      access: 'account',
      body: passwordRequest,
      problems: ['invalid-credentials', 'password-blocked', 'rate-limited', 'overloaded'],
      handle: ({ body, principal, call }) => change(body, principal, call),
    }),
    route({
      method: 'post',
      path: `${apiPrefix}/reset`,
      summary: 'Set a new password with a reset code; every session and service token ends',
      access: 'none',
      body: resetRequest,
      answer: resetResponse,
      problems: ['invalid-credentials', 'password-blocked', 'overloaded'],
      handle: ({ body, call }) => reset(body, call),
    }),
  ]
}
