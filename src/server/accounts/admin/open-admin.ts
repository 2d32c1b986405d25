import { type Clock, systemClock } from '../../../lib/util/time.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { defaultLimits } from '../../../lib/config/limits.ts'
import type { AccountStore, AuditRow } from '../account-store.ts'
import { keepAuditUntil } from '../audit-trail.ts'
import { type DataFiles, openAccountsStore, dataFiles } from '../data-folder.ts'

/** The files of an accounts server, opened by their owner; the server may run or not. */
export interface Admin extends AsyncDisposable {
  readonly store: AccountStore
  readonly files: DataFiles
  readonly clock: Clock
  readonly log: Logger
  /** Writes down what was done: who has the files needs no account, and leaves a trace. */
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
  | 'account.unlocked'
  | 'invite.created'
  | 'invite.ended'
  | 'keys.rotated'
  | 'registry.backed_up'
  | 'registry.restored'
  | 'reset_code.created'
  | 'reset_code.ended'
  | 'sessions.ended'
  | 'token.revoked'

interface AdminOptions {
  readonly dataDir: string
  readonly log: Logger
  readonly clock?: Clock
}

/**
 * Makes nothing. Throws `storage_failed` when there is no accounts server, `registry_dir_unsafe`.
 */
export async function openAdmin(options: AdminOptions): Promise<Admin> {
  const { dataDir, log, clock = systemClock } = options
  const busyMs = defaultLimits.maxStoreWaitMs
  const store = await openAccountsStore({ dataDir, clock, log, busyMs, create: false })
  return {
    store,
    files: dataFiles(dataDir),
    clock,
    log,
    async record(action, accountId, details = {}) {
      const row = { atMs: clock.now(), action, accountId, address: null }
      // How many rows are kept is a setting of the server, unknown here.
      const entry = { ...row, details: { by: 'owner', ...details } }
      const untilMs = keepAuditUntil(action, row.atMs)
      await store.audit(entry, { untilMs, maxRows: Number.MAX_SAFE_INTEGER })
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}
