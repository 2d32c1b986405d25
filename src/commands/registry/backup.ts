import * as Flags from '@oclif/core/flags'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { errnoOf, messageOf, ServiceError, usage } from '../../lib/util/errors.ts'
import { fsyncDirectory } from '../../lib/util/posix.ts'
import type { AccountStore } from '../../server/accounts/store.ts'
import { AdminCommand, readDataFlags } from './admin-command.ts'

export default class RegistryBackup extends AdminCommand {
  static override summary = 'Back up accounts and keys to a folder'
  static override description = `The accounts server can keep running. Keep the folder private. To \
restore, stop the server and copy both files back.`
  static override examples = [
    '<%= config.bin %> registry backup --out /backups/registry-$(date +%F)',
  ]

  static override flags = {
    out: Flags.string({ char: 'o', description: 'a new folder', helpValue: 'DIR', required: true }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(RegistryBackup)
    const { dataDir, database } = readDataFlags(flags, process.env)
    if (database !== undefined) {
      const hint = 'use pg_dump, and keep a copy of signing-keys.json in the data folder'
      throw usage('registry backup works on files, not on PostgreSQL', hint)
    }
    const folder = resolve(flags.out)
    if (existsSync(folder)) {
      const hint = 'name a new folder with --out'
      throw new ServiceError('file_exists', `${folder} exists already`, { hint })
    }
    await this.administer(flags, async (admin, output) => {
      await backUp(dataDir, admin.store, folder)
      await admin.record('registry.backed_up', null)
      await output.result('', { folder })
      output.note(`wrote the accounts and the keys to ${folder}`)
    })
  }
}

/** Writes database and keys to a new folder, whole or not at all. */
async function backUp(dataDir: string, store: AccountStore, folder: string): Promise<void> {
  const temporary = `${folder}.${randomBytes(8).toString('hex')}.tmp`
  const copy = join(temporary, 'registry.db')
  const keyCopy = join(temporary, 'signing-keys.json')
  try {
    await mkdir(temporary, { mode: 0o700 })
    await store.copyTo(copy)
    await copyFile(join(dataDir, 'signing-keys.json'), keyCopy)
    for (const file of [copy, keyCopy]) {
      await chmod(file, 0o600)
      await using handle = await open(file, 'r+')
      await handle.sync()
    }
    await fsyncDirectory(temporary)
    await rename(temporary, folder)
    await fsyncDirectory(dirname(folder))
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    if (errnoOf(error) === null) throw error
    const message = `the backup ${folder} cannot be made: ${messageOf(error)}`
    throw new ServiceError('storage_failed', message, { cause: error })
  }
}
