import { join } from 'node:path'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { type Admin, openAdmin } from '../../../src/server/accounts/admin/open-admin.ts'
import {
  type DataFiles,
  dataFiles,
  openAccountsStore,
} from '../../../src/server/accounts/data-folder.ts'
import { openFileKeys } from '../../../src/server/accounts/keys/file-keys.ts'
import { withFolder } from '../../helpers/folder.ts'
import { settableClock } from '../../helpers/settable-clock.ts'
import { day, newAccount, newSession, newToken } from '../../helpers/new-account.ts'

export interface Scene {
  readonly admin: Admin
  readonly clock: ReturnType<typeof settableClock>
  readonly folder: string
  readonly dataDir: string
  readonly files: DataFiles
}

/** The registry of Alice and Bob, as a server leaves it, in the hands of its owner. */
export function withAdmin(use: (scene: Scene) => Promise<void>): Promise<void> {
  return withFolder(async folder => {
    const dataDir = join(folder, 'data')
    const clock = settableClock()
    await makeAccounts(dataDir, clock)
    await using admin = await openAdmin({ dataDir, log: silentLogger, clock })
    await use({ admin, clock, folder, dataDir, files: dataFiles(dataDir) })
  })
}

export async function makeAccounts(
  dataDir: string,
  clock: ReturnType<typeof settableClock>,
): Promise<void> {
  const common = { clock, log: silentLogger, busyMs: 5000 }
  const store = await openAccountsStore({ dataDir, ...common })
  for (const name of ['Bob', 'Alice']) {
    const id = `account-${name}`
    await store.createAccount(newAccount(name), { session: newSession(id, `first of ${name}`) })
    await store.createSession(newSession(id, `second of ${name}`))
    await store.createServiceToken(newToken(id, `token of ${name}`))
  }
  await store.close()
  await openFileKeys({
    ...common,
    file: dataFiles(dataDir).keys,
    lifetimes: { accessTokenMs: day, refreshTokenMs: 30 * day },
    rotationMs: 90 * day,
  })
}
