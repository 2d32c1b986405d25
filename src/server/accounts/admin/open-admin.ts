import { type Clock, systemClock } from '../../../lib/util/time.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { storeDefaults } from '../../database/limits.ts'
import type { DatabaseSettings } from '../../database/settings.ts'
import type { AuditRow } from '../account-store.ts'
import { keepAuditUntil } from '../audit-trail.ts'
import { type Accounts, openAccounts } from '../open-accounts.ts'

/** The data of an accounts server, for its operator; the server may run or not. */
export interface Admin extends AsyncDisposable, Omit<Accounts, 'followKeys'> {
  readonly clock: Clock
  readonly log: Logger
  /** Adds an audit entry, because an operator acts without an account. */
  record(
    action: AdminAction,
    accountId: string | null,
    details?: AuditRow['details'],
  ): Promise<void>
}

type AdminAction =
  | 'account.deleted'
  | 'account.disabled'
  | 'account.enabled'
  | 'account.team_set'
  | 'invite.created'
  | 'keys.rotated'
  | 'registry.backed_up'
  | 'reset_code.created'

interface AdminOptions {
  readonly dataDir: string
  readonly database?: DatabaseSettings
  readonly log: Logger
  readonly clock?: Clock
}

/** Creates nothing. Throws `storage_failed` when there is no accounts server, `registry_dir_unsafe`. */
export async function openAdmin(options: AdminOptions): Promise<Admin> {
  const { log, clock = systemClock } = options
  const busyMs = storeDefaults.maxStoreWaitMs
  const accounts = await openAccounts({ ...options, clock, busyMs, create: false })
  const { store } = accounts
  return {
    ...accounts,
    clock,
    log,
    async record(action, accountId, details = {}) {
      const row = { atMs: clock.now(), action, accountId, address: null }
      // Only the server knows how many rows are kept.
      const entry = { ...row, details: { by: 'owner', ...details } }
      const untilMs = keepAuditUntil(action, row.atMs)
      await store.audit(entry, { untilMs, maxRows: Number.MAX_SAFE_INTEGER })
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}
