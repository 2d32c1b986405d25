import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { errnoOf } from '../../../lib/util/errno.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { parseJson } from '../../../lib/util/json.ts'
import { noFollow, noWait } from '../../../lib/util/posix.ts'

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
export type FileFacts = z.infer<typeof file>

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
  return new ServiceError('storage_failed', `${folder} is no whole backup: ${why}`, { hint })
}

function newer(folder: string): ServiceError {
  const hint = 'use the version of service-cli that made it, or a newer one'
  return new ServiceError('storage_failed', `${folder} is a backup of a newer version`, { hint })
}

function unreadable(path: string, what: string, cause?: unknown): ServiceError {
  const hint = 'check its kind, owner and mode'
  return new ServiceError('storage_failed', `${path} ${what}`, { cause, hint })
}
