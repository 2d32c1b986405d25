import { toRfc3339 } from '../../../lib/util/time.ts'
import type { AuditRow } from '../account-store.ts'
import { isUuid } from '../../../lib/util/text.ts'
import { findAccount } from './users.ts'
import type { Admin } from './open-admin.ts'

interface AuditView {
  readonly timestamp: string
  readonly action: string
  readonly account_id: string | null
  /** Null also for a deleted account. */
  readonly username: string | null
  readonly address: string | null
  readonly details: AuditRow['details']
}

/** Newest first. `name` may be the id of a deleted account. */
export async function readAudit(
  admin: Admin,
  { name, limit }: { name?: string; limit: number },
): Promise<{ readonly entries: readonly AuditView[] }> {
  const { store } = admin
  const accountId = name === undefined ? undefined : await accountIdOf(admin, name)
  const rows = await store.listAudit({ limit, accountId })
  const names = new Map<string, string | null>()
  const entries: AuditView[] = []
  for (const { atMs, action, accountId, address, details } of rows) {
    if (accountId !== null && !names.has(accountId)) {
      names.set(accountId, (await store.getAccount(accountId))?.username ?? null)
    }
    entries.push({
      timestamp: toRfc3339(atMs),
      action,
      account_id: accountId,
      username: accountId === null ? null : (names.get(accountId) ?? null),
      address,
      details,
    })
  }
  return { entries }
}

async function accountIdOf(admin: Admin, name: string): Promise<string> {
  return isUuid(name) ? name : (await findAccount(admin, name)).id
}
