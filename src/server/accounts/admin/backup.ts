import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, type FileHandle, lstat, mkdir, open, readdir, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { errnoOf, ServiceError, usage } from '../../../lib/util/errors.ts'
import { parseJson } from '../../../lib/util/json.ts'
import { fsyncDirectory, noFollow, noWait, ownUid } from '../../../lib/util/posix.ts'
import { writeNewFile } from '../../../lib/util/replace-file.ts'
import { toRfc3339 } from '../../../lib/util/time.ts'
import { readKeyText, writeKeyText } from '../keys/file-keys.ts'
import { verifyBackup } from '../sqlite/backup.ts'
import type { Admin } from './open-admin.ts'

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
    const manifest: BackupManifest = {
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

async function written(path: string) {
  const facts = await factsOfFile(path)
  if (facts !== null) return facts
  throw new ServiceError('storage_failed', `${path} vanished while the backup was made`)
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

export const backupFiles = { database: 'registry.db', keys: 'keys.json', manifest: 'backup.json' }

const maxManifestBytes = 16 * 1024
const file = z.object({ bytes: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) })

/** Written last: a folder without it is not a whole backup. */
const manifest = z.object({
  version: z.literal(1),
  created_at: z.string(),
  registry_id: z.string(),
  accounts: z.int(),
  sessions: z.int(),
  database: file,
  keys: file,
})

export type BackupManifest = z.infer<typeof manifest>
type FileFacts = z.infer<typeof file>

export async function readManifest(folder: string): Promise<BackupManifest> {
  const path = join(folder, backupFiles.manifest)
  const bytes = await readOpened(path, async handle => {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(maxManifestBytes))
    return buffer.subarray(0, bytesRead)
  })
  if (bytes === null) throw notABackup(folder, `it has no ${backupFiles.manifest}`)
  const json = parseJson(bytes.toString('utf8'), 8)
  if (!json.ok) throw notABackup(folder, `its ${backupFiles.manifest} is damaged`)
  const version = z.object({ version: z.number() }).safeParse(json.value)
  if (version.success && version.data.version > 1) throw newer(folder)
  const parsed = manifest.safeParse(json.value)
  if (!parsed.success) throw notABackup(folder, `its ${backupFiles.manifest} is damaged`)
  return parsed.data
}

/** Null when there is no such file. */
export function factsOfFile(path: string): Promise<FileFacts | null> {
  return readOpened(path, async handle => {
    const hash = createHash('sha256')
    let bytes = 0
    for await (const chunk of handle.createReadStream({ autoClose: false })) {
      hash.update(chunk)
      bytes += chunk.length
    }
    return { bytes, sha256: hash.digest('hex') }
  })
}

async function readOpened<Value>(
  path: string,
  read: (handle: FileHandle) => Promise<Value>,
): Promise<Value | null> {
  let handle: FileHandle | null = null
  try {
    handle = await open(path, constants.O_RDONLY | noFollow | noWait)
    if (!(await handle.stat()).isFile()) throw unreadable(path, 'is not a regular file')
    return await read(handle)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT') return null
    if (error instanceof ServiceError) throw error
    const what = errno === 'ELOOP' ? 'is a symbolic link' : `cannot be read (${errno})`
    throw unreadable(path, what, error)
  } finally {
    await handle?.close()
  }
}

export function notABackup(folder: string, why: string): ServiceError {
  const hint = 'name a folder that service-cli registry backup has written to its end'
  return new ServiceError('storage_failed', `${folder} is not a complete backup: ${why}`, { hint })
}

function newer(folder: string): ServiceError {
  const hint = 'use the version of service-cli that made it, or a newer one'
  return new ServiceError('storage_failed', `${folder} is a backup of a newer version`, { hint })
}

function unreadable(path: string, what: string, cause?: unknown): ServiceError {
  const hint = 'check its kind, owner and mode'
  return new ServiceError('storage_failed', `${path} ${what}`, { cause, hint })
}
