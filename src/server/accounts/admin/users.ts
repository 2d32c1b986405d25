import { teamPattern } from '../../../lib/accounts/wire.ts'
import type { AccountRow, LoginFailures } from '../account-store.ts'
import type { Admin } from './open-admin.ts'
import { rfc3339OrNull, toRfc3339 } from '../../../lib/util/time.ts'
import { defaultAccountLimits } from '../limits.ts'
import {
  countFailures,
  loginDelayMs,
  unknownAddresses,
  unknownAddressesFactor,
} from '../login-limits.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { foldLogin } from '../names.ts'

/** The name of a deleted account cannot be taken for so long. */
const nameReservedMs = 90 * 24 * 60 * 60 * 1000

/** In the order of names. */
export async function listUsers(admin: Admin): Promise<{ readonly users: readonly UserView[] }> {
  const users: UserView[] = []
  // Ends: each page begins behind the last one.
  for (let after = ''; ;) {
    const page = await admin.store.listAccounts({ after, limit: pageRows })
    for (const account of page) {
      users.push(userView(account, await failuresOf(admin, account), admin.clock.now()))
    }
    const last = page.at(-1)
    if (last === undefined || page.length < pageRows) return { users }
    after = last.usernameKey
  }
}

/**
 * Ends every session and service token of the account, and forgets its failed logins. Takes effect
 * at its next request. `changed` is false when it was disabled already.
 */
export async function disableUser(admin: Admin, name: string) {
  const { store, clock } = admin
  const { id, username, usernameKey, emailKey, disabledAtMs } = await findAccount(admin, name)
  const nowMs = clock.now()
  const changed = disabledAtMs === null
  // First: a disabled account gets no new sessions and tokens.
  if (changed) await store.setDisabled(id, nowMs)
  const sessions = await store.revokeSessions(id, 'disabled', nowMs)
  const tokens = await store.listServiceTokens(id, nowMs)
  for (const token of tokens) await store.revokeServiceToken(id, token.id, nowMs)
  for (const key of [usernameKey, emailKey]) await store.clearFailures(key)
  const ended = { ended_sessions: sessions, ended_tokens: tokens.length }
  if (changed) await admin.record('account.disabled', id, ended)
  return { id, username, disabled: true, changed, ...ended }
}

/** `changed` is false when the account was enabled already. */
export async function enableUser(admin: Admin, name: string) {
  const { id, username, disabledAtMs } = await findAccount(admin, name)
  const changed = disabledAtMs !== null
  if (changed) {
    await admin.store.setDisabled(id, null)
    await admin.record('account.enabled', id)
  }
  return { id, username, disabled: false, changed }
}

/** Null: in none. `before` is the team until now. */
export async function setTeam(admin: Admin, name: string, wanted: string | null) {
  const team = wanted?.toLowerCase() ?? null
  if (team !== null && !teamPattern.test(team)) {
    throw new ServiceError('usage_invalid', `"${cleanText(team, 100)}" is no name of a team`, {
      hint: 'use 1 to 64 letters and digits, with single . _ - between them',
    })
  }
  const { id, username, team: before } = await findAccount(admin, name)
  if (team !== before) {
    await admin.store.setTeam(id, team)
    await admin.record('account.team_set', id, { team, before })
  }
  return { id, username, team, before }
}

/** Deletes sessions, tokens and codes too. The audit entries stay, and the name for some time. */
export async function deleteUser(admin: Admin, name: string) {
  const { id, username } = await findAccount(admin, name)
  const deleted = await admin.store.deleteAccount(id, admin.clock.now() + nameReservedMs)
  // Otherwise another process deleted it first.
  if (deleted) await admin.record('account.deleted', id, { username })
  return { id, username, deleted: true }
}

async function failuresOf(
  { store }: Admin,
  { usernameKey, emailKey }: AccountRow,
): Promise<LoginFailures[]> {
  return [...(await store.listFailures(usernameKey)), ...(await store.listFailures(emailKey))]
}

interface UserView {
  readonly id: string
  readonly username: string
  readonly email: string
  readonly team: string | null
  readonly created_at: string
  readonly disabled_at: string | null
  /** `waiting`: logins from some addresses, or from all unknown ones, are refused now. */
  readonly login: 'open' | 'waiting'
  readonly failed_logins: number
}

function userView(
  { id, username, email, team, createdAtMs, disabledAtMs }: AccountRow,
  failures: LoginFailures[],
  nowMs: number,
): UserView {
  const free = defaultAccountLimits.maxLoginFailures
  const isWaiting = failures.some(
    row =>
      loginDelayMs(
        row,
        row.source === unknownAddresses ? free * unknownAddressesFactor : free,
        nowMs,
      ) > 0,
  )
  return {
    id,
    username,
    email,
    team,
    created_at: toRfc3339(createdAtMs),
    disabled_at: rfc3339OrNull(disabledAtMs),
    login: isWaiting ? 'waiting' : 'open',
    failed_logins: sumFailures(failures, nowMs),
  }
}

/** Counts each failure once: those of unknown addresses are also stored together. */
function sumFailures(failures: LoginFailures[], nowMs: number): number {
  return failures
    .filter(({ source }) => source !== unknownAddresses)
    .reduce((sum, row) => sum + countFailures(row, nowMs), 0)
}

/** By user name or email address, as for a login. Throws `request_refused` when there is none. */
export async function findAccount({ store }: Admin, name: string): Promise<AccountRow> {
  const account = await store.findAccount(foldLogin(name))
  if (account !== null) return account
  throw new ServiceError('request_refused', `there is no account "${cleanText(name, 100)}"`, {
    hint: 'service-cli registry users list shows them',
  })
}

const pageRows = 200
