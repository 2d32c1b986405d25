import { chmod, lstat, mkdir, open, readdir, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { toRfc3339 } from '../../../lib/util/clock.ts'
import { errnoOf } from '../../../lib/util/errno.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { fsyncDirectory, ownUid } from '../../../lib/util/posix.ts'
import { readKeyText, writeKeyText } from '../keys/copy-key-file.ts'
import { verifyBackup } from '../sqlite/backup.ts'
import { type BackupManifest, backupFiles, factsOfFile } from './backup-manifest.ts'
import type { Admin } from './open-admin.ts'

/**
 * Database, keys and a list of both in a folder of their own that only its owner can enter. What
 * fails half-way leaves nothing. Throws `file_exists` for a folder that holds something.
 */
export async function backUp(admin: Admin, folder: string) {
  const { store, files, clock, log } = admin
  const made = await openTarget(folder)
  const path = (name: string) => join(folder, name)
  try {
    const createdAtMs = clock.now()
    await store.backup(path(backupFiles.database))
    // After the database: the keys of everything in it are among them.
    const keys = await readKeyText(files.keys, log)
    if (keys === null) throw noKeys(files.keys)
    await writeKeyText(path(backupFiles.keys), keys, log)
    const { registryId, accounts, sessions } = await verifyBackup(path(backupFiles.database))
    const manifest: BackupManifest = {
      version: 1,
      created_at: toRfc3339(createdAtMs),
      registry_id: registryId,
      accounts,
      sessions,
      database: await written(path(backupFiles.database)),
      keys: await written(path(backupFiles.keys)),
    }
    await writeManifest(path(backupFiles.manifest), manifest)
    await fsyncDirectory(folder)
    await fsyncDirectory(dirname(folder))
    await admin.record('registry.backed_up', null, { accounts, sessions })
    return { folder, ...manifest }
  } catch (error) {
    for (const name of Object.values(backupFiles)) await rm(path(name), { force: true })
    if (made) await rmdir(folder).catch(() => {})
    throw error
  }
}

/** Returns whether the folder was made; an empty one of our own is taken as well. */
async function openTarget(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 })
    return true
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw cannotMake(folder, error)
  }
  const found = await lstat(folder)
  const uid = ownUid()
  if (!found.isDirectory() || (uid !== null && found.uid !== uid)) {
    throw taken(folder, 'is there already, and no folder of this user')
  }
  if ((await readdir(folder)).length > 0) throw taken(folder, 'is there already and not empty')
  await chmod(folder, 0o700)
  return false
}

async function written(path: string) {
  const facts = await factsOfFile(path)
  if (facts !== null) return facts
  throw new ServiceError('storage_failed', `${path} vanished while the backup was made`)
}

async function writeManifest(path: string, manifest: BackupManifest): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify(manifest, null, 2)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function taken(folder: string, what: string): ServiceError {
  const hint = 'name a folder that does not exist with --out'
  return new ServiceError('file_exists', `${folder} ${what}`, { hint })
}

function cannotMake(folder: string, error: unknown): ServiceError {
  const errno = errnoOf(error) ?? 'unknown error'
  const hint =
    errno === 'ENOENT' ? 'make the folder above it first' : 'choose another folder with --out'
  return new ServiceError('storage_failed', `the folder ${folder} cannot be made (${errno})`, {
    cause: error,
    hint,
  })
}

function noKeys(file: string): ServiceError {
  const hint = 'put it back, or start the registry once: it makes new ones, and every login is over'
  return new ServiceError('storage_failed', `there is no key file ${file}`, { hint })
}
