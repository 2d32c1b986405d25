import type { NewAccount, NewServiceToken, NewSession } from '../../src/server/accounts/schema.ts'
import { startMs } from './settable-clock.ts'

export const day = 24 * 60 * 60 * 1000

export function newAccount(name: string, change: Partial<NewAccount> = {}): NewAccount {
  return {
    id: `account-${name}`,
    username: name,
    usernameKey: name.toLowerCase(),
    email: `${name}@studio.example`,
    emailKey: `${name.toLowerCase()}@studio.example`,
    passwordHash: `hash of ${name}`,
    createdAtMs: startMs,
    ...change,
  }
}

export function newSession(
  accountId: string,
  id: string,
  change: Partial<NewSession> = {},
): NewSession {
  return {
    id,
    accountId,
    tokenHash: `token of ${id}`,
    seed: 'seed',
    createdAtMs: startMs,
    expiresAtMs: startMs + 30 * day,
    ...change,
  }
}

export function newToken(
  accountId: string,
  id: string,
  change: Partial<NewServiceToken> = {},
): NewServiceToken {
  return {
    id,
    accountId,
    name: `token ${id}`,
    secretHash: `secret of ${id}`,
    scopes: 'read publish',
    createdAtMs: startMs,
    expiresAtMs: startMs + 90 * day,
    ...change,
  }
}
