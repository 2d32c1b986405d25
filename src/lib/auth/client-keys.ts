import { hash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { withFileLock } from '../config/file-lock.ts'
import { writePrivateFile } from '../config/private-file.ts'
import { errnoOf, isMissing, readProblem, ServiceError, unusableFile } from '../util/errors.ts'
import { ensurePrivateDirectory, isOwn, noFollow, noWait, ownUid } from '../util/posix.ts'
import { generateApiKey } from './api-key-config.ts'

/** Marks keys of this program, for people and for log redaction. */
export const keyPrefix = 'smk_'
const maxKeys = 1000
const maxFileBytes = 1024 * 1024
const lockWaitMs = 10_000

/** Names appear in logs, the audit and shells. A key is no name: it would be written there. */
export const keyName = z
  .string()
  .max(64)
  .regex(/^(?!smk_)[A-Za-z0-9][A-Za-z0-9._-]*$/)

const clientKey = z.strictObject({
  name: keyName,
  /** SHA-256 of the key, in hex. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  scope: z.enum(['read', 'write']),
  created_at: z.iso.datetime(),
  /** Absent: it lasts until it is revoked. */
  expires_at: z.iso.datetime().optional(),
})

// Strict: a member that is unknown here may be one that limits a key.
const clientKeys = z
  .strictObject({
    /** Set by `keys off`: clients need no key. */
    open: z.literal(true).optional(),
    keys: z.array(clientKey).max(maxKeys),
  })
  .refine(
    ({ keys }) => new Set(keys.map(({ name }) => name)).size === keys.length,
    'duplicate name',
  )
  .refine(({ keys }) => new Set(keys.map(keyOf)).size === keys.length, 'duplicate key')

function keyOf({ sha256 }: ClientKey): string {
  return sha256
}

export type ClientKey = z.infer<typeof clientKey>

/** The keys file of an account. Members are named as in the file. */
export type ClientKeys = z.infer<typeof clientKeys>

/** Generates a key with 256 random bits. */
export function newKey(): string {
  return keyPrefix + generateApiKey(32)
}

/**
 * The stored hash of a key. Unlike a password, a random key needs no slow hash. Looking up the hash
 * leaks nothing about the key through timing.
 */
export function keyDigest(key: string): string {
  return hash('sha256', key, 'hex')
}

/**
 * Reads the keys file; null when there is none. Throws `config_invalid` for a symlink, a file of
 * another user or open to others (who could add keys), and for a damaged file, which must not count
 * as "no keys".
 */
export async function readClientKeys(path: string): Promise<ClientKeys | null> {
  const text = await readOwnFile(path)
  if (text === null) return null
  try {
    return clientKeys.parse(JSON.parse(text))
  } catch (error) {
    const [issue] = error instanceof z.ZodError ? error.issues : []
    const what =
      issue === undefined ? 'it is not JSON' : `/${issue.path.join('/')} ${issue.message}`
    const hint = 'correct it; or move it away and make new keys with service-cli keys create'
    throw unusableFile(path, `is damaged: ${what}`, hint)
  }
}

/**
 * Reads, changes and writes the keys under a lock; readers see the old file or the new one. Throws
 * as `readClientKeys`, `config_busy`, `registry_dir_unsafe`, `storage_failed`; then the file is as
 * before.
 */
export async function updateClientKeys(
  path: string,
  change: (now: ClientKeys) => ClientKeys,
): Promise<void> {
  await ensurePrivateDirectory(dirname(path))
  const lock = join(dirname(path), 'client-keys.lock')
  const done = await withFileLock(lock, { waitMs: lockWaitMs }, async () => {
    const changed = clientKeys.parse(change((await readClientKeys(path)) ?? { keys: [] }))
    await writePrivateFile({ path, onTightened() {} }, `${JSON.stringify(changed, null, 2)}\n`)
  })
  if (done.ok) return
  throw new ServiceError('config_busy', `${path} is in use by another service-cli`, {
    hint: 'wait for the other commands to end, then run this one again',
  })
}

async function readOwnFile(path: string): Promise<string | null> {
  try {
    const file = await open(path, constants.O_RDONLY | noFollow | noWait)
    try {
      const found = await file.stat()
      if (!found.isFile()) throw unusableFile(path, 'is not a regular file', 'remove it')
      if (!isOwn(found)) {
        throw unusableFile(path, `belongs to uid ${found.uid}`, 'have its owner remove it')
      }
      if (ownUid() !== null && (found.mode & 0o077) !== 0) {
        const hint = `check its keys, then run chmod 600 ${path}`
        throw unusableFile(path, 'is open to other users', hint)
      }
      if (found.size > maxFileBytes) throw unusableFile(path, 'is too large', 'remove it')
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) return null
    if (error instanceof ServiceError) throw error
    const isLink = errnoOf(error) === 'ELOOP'
    const what = isLink ? 'is a symbolic link' : `cannot be read: ${readProblem(error)}`
    throw unusableFile(path, what, `put a file of yours there, with chmod 600`)
  }
}
