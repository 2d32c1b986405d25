import type { CreateOutcome, ServiceTokenRow } from './account-store.ts'

/** The rules of every store of accounts, whatever it is made of. */

/** The use of a token is noted at most this often: not every request is to write. */
export const touchEveryMs = 60_000

/** As many as may live by default: an account that makes and revokes tokens fills no disk. */
export const maxRevokedTokens = 500

/** About 15 MB. Filling it takes an attacker 40 minutes of hashing on one core. */
export const maxFailureRows = 100_000
/** Trimming reads the whole index, so it is not done at each failure. */
export const trimFailuresEvery = 1000

/** A service token as a table has it: its scopes are JSON. */
export type StoredServiceToken = Omit<ServiceTokenRow, 'scopes'> & { readonly scopes: string }

export function toServiceToken(row: StoredServiceToken): ServiceTokenRow {
  return { ...row, scopes: JSON.parse(row.scopes) }
}

/** `readyz` is public, and each test write waits for the disk. */
export const testWriteEveryMs = 1000

/** A sweep removes so many rows at a time: between them requests are answered. */
export const sweepBatch = 500

/** Entries of one action of one account: ten a day for a quarter. */
const maxAuditRowsOfAccount = 1000
/** The same of all callers without an account together, who are many. */
const maxAuditRowsOfStrangers = 10_000

/** How many audit entries of one action of the account stay; null: of callers without one. */
export function maxAuditRowsOf(accountId: string | null): number {
  return accountId === null ? maxAuditRowsOfStrangers : maxAuditRowsOfAccount
}

/** Counting reads a whole index, so it is done once in `maxRows / 100` entries. */
export function isTrimDue(id: number, maxRows: number): boolean {
  return id % Math.max(1, Math.floor(maxRows / 100)) === 0
}

/** Audit entries of one account; callers without one have an id of the store's choice. */
interface AuditCount<Id> {
  readonly accountId: Id
  readonly count: number
}

/**
 * Which accounts have how many entries too many, of `maxRows` in all. `counts` are in descending
 * order. The smallest comes first: each keeps all it has or as much as every larger one.
 */
export function auditExcess<Id>(counts: AuditCount<Id>[], maxRows: number): AuditCount<Id>[] {
  const excess: AuditCount<Id>[] = []
  let left = maxRows
  for (const [at, { accountId, count }] of [...counts.entries()].toReversed()) {
    const share = Math.min(count, Math.floor(left / (at + 1)))
    if (count > share) excess.push({ accountId, count: count - share })
    left -= share
  }
  return excess
}

/** Runs `remove`, which removes `sweepBatch` rows at most, until less are left. Returns how many went. */
export async function inBatches(remove: () => Promise<number>): Promise<number> {
  let all = 0
  for (let gone = sweepBatch; gone === sweepBatch; all += gone) gone = await remove()
  return all
}

/** Undoes the transaction in which it is thrown; `outcome` is the answer. */
export class Undone extends Error {
  readonly outcome: CreateOutcome

  constructor(outcome: CreateOutcome) {
    super(outcome)
    this.outcome = outcome
  }
}
