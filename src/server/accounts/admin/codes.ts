import { randomBytes } from 'node:crypto'
import { toRfc3339 } from '../../../lib/util/time.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { Secret } from '../../../lib/util/secret.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { usernamePattern } from '../../../lib/accounts/wire.ts'
import { foldUsername, isReservedName } from '../names.ts'
import { hashOfSecret } from '../service-tokens.ts'
import { findAccount } from './users.ts'
import type { Admin } from './open-admin.ts'

/** 160 bits cannot be guessed while a code is valid. */
const codeBytes = 20
const resetCodeMs = 60 * 60 * 1000
const inviteMs = 7 * 24 * 60 * 60 * 1000

/**
 * Makes a code for a lost password, in place of an earlier one, and stores its hash. `ends` lists
 * what ends when the code is used.
 */
export async function makeResetCode(admin: Admin, name: string) {
  const { id, username, disabledAtMs } = await findAccount(admin, name)
  if (disabledAtMs !== null) throw disabled(username)
  const code = makeCode('rst_')
  const expiresAtMs = admin.clock.now() + resetCodeMs
  const made = await admin.store.createResetCode({
    accountId: id,
    hash: hashOfSecret(code.reveal()),
    expiresAtMs,
  })
  if (!made) throw new ServiceError('request_refused', `the account "${username}" was deleted`)
  const expires_at = toRfc3339(expiresAtMs)
  await admin.record('reset_code.created', id, { expires_at })
  const nowMs = admin.clock.now()
  const sessions = await admin.store.listSessions(id, nowMs)
  const tokens = await admin.store.listServiceTokens(id, nowMs)
  const ends = {
    sessions: sessions.length,
    tokens: tokens.map(token => ({ id: token.id, name: token.name })),
  }
  return { id, username, expires_at, ends, code }
}

/** Makes a code for a new account of this name, in place of an earlier one, and stores its hash. */
export async function makeInvite(admin: Admin, username: string) {
  if (!usernamePattern.test(username) || isReservedName(username)) {
    throw new ServiceError('usage_invalid', `"${cleanText(username, 100)}" is no user name`, {
      hint: 'use 3 to 64 letters and digits, with single . _ - between them; admin, root and such are reserved',
    })
  }
  const usernameKey = foldUsername(username)
  if ((await admin.store.findAccount(usernameKey)) !== null) {
    throw new ServiceError('request_refused', `there is an account "${username}" already`, {
      hint: `service-cli registry users reset-code ${username} makes a code for a lost password`,
    })
  }
  const code = makeCode('inv_')
  const expiresAtMs = admin.clock.now() + inviteMs
  await admin.store.createInvite({ usernameKey, hash: hashOfSecret(code.reveal()), expiresAtMs })
  const expires_at = toRfc3339(expiresAtMs)
  await admin.record('invite.created', null, { username, expires_at })
  return { username, expires_at, code }
}

function makeCode(prefix: string): Secret {
  return new Secret(prefix + randomBytes(codeBytes).toString('base64url'))
}

function disabled(username: string): ServiceError {
  return new ServiceError('request_refused', `the account "${username}" is disabled`, {
    hint: `service-cli registry users enable ${username}`,
  })
}
