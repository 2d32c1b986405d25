import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { defaultLimits } from '../../../lib/config/limits.ts'
import { ServiceError, usage } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { fsyncDirectory } from '../../../lib/util/posix.ts'
import { replaceFile } from '../../../lib/util/replace-file.ts'
import { type Clock, systemClock, toRfc3339 } from '../../../lib/util/time.ts'
import { type DataFiles, isThere, dataFiles, withFolderAlone } from '../data-folder.ts'
import { readKeyText, writeKeyText } from '../keys/file-keys.ts'
import { restoreBackup, verifyBackup } from '../sqlite/backup.ts'
import {
  type BackupManifest,
  backupFiles,
  factsOfFile,
  notABackup,
  readManifest,
} from './backup.ts'
import { openAdmin } from './open-admin.ts'

export interface RestoreOptions {
  readonly from: string
  readonly dataDir: string
  /** Move existing accounts and keys aside instead of refusing. */
  readonly force: boolean
  readonly withoutKeys: boolean
  /** Keep the sessions of the backup; otherwise they end. */
  readonly keepSessions: boolean
  readonly log: Logger
  readonly clock?: Clock
}

/** How long a restore waits for what has the database open. */
const waitMs = 1000

/** Changes nothing unless the backup is complete and the folder is not in use. */
export async function restore(options: RestoreOptions) {
  const { from, dataDir, force, withoutKeys, keepSessions, log, clock = systemClock } = options
  if (withoutKeys && keepSessions) {
    throw usage('--keep-sessions needs the keys', 'leave out --without-keys')
  }
  const manifest = await readManifest(from)
  const keys = withoutKeys ? null : await readKeys(from, manifest, log)
  const source = join(from, backupFiles.database)
  await check(from, backupFiles.database, manifest.database)
  await verifyBackup(source)

  const files = dataFiles(dataDir)
  // Refused before the folder is made or locked, and again under the lock.
  await refuseOver(files, force)
  const alone = { dataDir, log, busyMs: waitMs }
  const done = await withFolderAlone(alone, async () => {
    await refuseOver(files, force)
    await replaceFile(files.unfinished, '')
    const nowMs = clock.now()
    const aside = await putAside(files, join(dataDir, `replaced-${fileTime(nowMs)}`))
    try {
      const busyMs = defaultLimits.maxStoreWaitMs
      const how = { nowMs, busyMs, log, keepSessions }
      const facts = await restoreBackup(source, files.database, how)
      if (keys !== null) await writeKeyText(files.keys, keys, log)
      await removeMark(files, dataDir)
      return { facts, aside }
    } catch (error) {
      // A full disk, for example: the old files come back.
      await putBack(files, aside)
      await removeMark(files, dataDir)
      throw error
    }
  })
  await recordRestore(options, manifest)
  return {
    data_dir: dataDir,
    from,
    backup_created_at: manifest.created_at,
    registry_id: done.facts.registryId,
    accounts: done.facts.accounts,
    keys: keys !== null,
    sessions_ended: keepSessions ? 0 : done.facts.sessions,
    sessions_kept: keepSessions ? done.facts.sessions : 0,
    replaced: done.aside,
  }
}

async function readKeys(from: string, manifest: BackupManifest, log: Logger): Promise<string> {
  const file = join(from, backupFiles.keys)
  const text = await readKeyText(file, log)
  if (text === null) {
    throw new ServiceError('storage_failed', `the backup has no keys: ${file} is missing`, {
      hint: 'put it back; or give --without-keys: new keys are made, and every user logs in again',
    })
  }
  await check(from, backupFiles.keys, manifest.keys)
  return text
}

async function check(from: string, name: string, expected: BackupManifest['keys']): Promise<void> {
  const found = await factsOfFile(join(from, name))
  if (found === null) throw notABackup(from, `it has no ${name}`)
  if (found.sha256 !== expected.sha256) throw notABackup(from, `${name} was changed or damaged`)
}

async function refuseOver(files: DataFiles, force: boolean): Promise<void> {
  if (force) return
  for (const path of [files.database, files.keys]) {
    if (!(await isThere(path))) continue
    throw new ServiceError('file_exists', `there is an accounts server already: ${path}`, {
      hint: 'name another --data-dir, or give --force, which puts the old one aside',
    })
  }
}

async function removeMark({ unfinished }: DataFiles, dataDir: string): Promise<void> {
  await fsyncDirectory(dataDir)
  await rm(unfinished)
  await fsyncDirectory(dataDir)
}

/** Moves all files of the accounts, even damaged ones, to `folder`. Null without files. */
async function putAside(files: DataFiles, folder: string): Promise<string | null> {
  const there = []
  for (const path of replaced(files)) if (await isThere(path)) there.push(path)
  if (there.length === 0) return null
  await mkdir(folder, { mode: 0o700 })
  for (const path of there) await rename(path, join(folder, basename(path)))
  await fsyncDirectory(folder)
  return folder
}

async function putBack(files: DataFiles, folder: string | null): Promise<void> {
  for (const path of replaced(files)) await rm(path, { force: true })
  if (folder === null) return
  for (const name of await readdir(folder)) {
    await rename(join(folder, name), join(dirname(files.database), name))
  }
  await rmdir(folder)
}

function replaced({ database, keys }: DataFiles): string[] {
  return [keys, database, `${database}-wal`, `${database}-shm`, `${database}-journal`]
}

/** Makes the name of a folder that sorts by time: no colons, which some systems refuse. */
function fileTime(timeMs: number): string {
  return toRfc3339(timeMs).replace(/[:.]/g, '-')
}

async function recordRestore(
  { dataDir, log, clock = systemClock }: RestoreOptions,
  made: BackupManifest,
): Promise<void> {
  await using admin = await openAdmin({ dataDir, log, clock })
  await admin.record('registry.restored', null, { backup_created_at: made.created_at })
}
