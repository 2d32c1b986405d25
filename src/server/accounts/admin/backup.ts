import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, lstat, mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { errnoOf, ServiceError, usage } from '../../../lib/util/errors.ts'
import { fsyncDirectory, ownUid } from '../../../lib/util/posix.ts'
import { writeNewFile } from '../../../lib/util/replace-file.ts'
import { toRfc3339 } from '../../../lib/util/time.ts'
import { readKeyText, writeKeyText } from '../keys/file-keys.ts'
import { verifyBackup } from '../sqlite/backup.ts'
import type { Admin } from './open-admin.ts'

/** The manifest is written last: a folder without it is not a whole backup. */
const backupFiles = { database: 'registry.db', keys: 'keys.json', manifest: 'backup.json' }

/**
 * Writes database, keys and a list of both to a folder that only its owner can enter. A failure
 * leaves nothing there. Throws `file_exists` for a folder that is not empty.
 */
export async function backUp(admin: Admin, folder: string) {
  const { files, clock, log } = admin
  if (files === null) throw backupUnsupported()
  const made = await openTarget(folder)
  const path = (name: string) => join(folder, name)
  try {
    const createdAtMs = clock.now()
    await files.copyDatabase(path(backupFiles.database))
    // After the database: the keys of everything in it are among them.
    const keys = await readKeyText(files.keys, log)
    if (keys === null) throw noKeys(files.keys)
    await writeKeyText(path(backupFiles.keys), keys, log)
    const { registryId, accounts, sessions } = await verifyBackup(path(backupFiles.database))
    const manifest = {
      version: 1,
      created_at: toRfc3339(createdAtMs),
      registry_id: registryId,
      accounts,
      sessions,
      database: await written(path(backupFiles.database)),
      keys: await written(path(backupFiles.keys)),
    }
    await writeNewFile(path(backupFiles.manifest), `${JSON.stringify(manifest, null, 2)}\n`)
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

/** Makes the folder, or uses an empty one of this user. Returns true when it was made. */
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
    throw taken(folder, 'exists and is not a folder of this user')
  }
  if ((await readdir(folder)).length > 0) throw taken(folder, 'exists and is not empty')
  await chmod(folder, 0o700)
  return false
}

async function written(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return { bytes: (await lstat(path)).size, sha256: hash.digest('hex') }
}

/** The error of `backup` with a database. */
function backupUnsupported(): ServiceError {
  return usage(
    'registry backup works on files, not on PostgreSQL',
    'use pg_dump and pg_restore, and keep a copy of wrapping.key in the data folder',
  )
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
  const hint =
    'put it back, or start the accounts server once: it makes new ones, and every login is over'
  return new ServiceError('storage_failed', `there is no key file ${file}`, { hint })
}
