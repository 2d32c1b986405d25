import { dirname, join } from 'node:path'
import { z } from 'zod'
import { readPrivateFile, withFileLock, writePrivateFile } from '../config/private-file.ts'
import { ServiceError, unusableFile } from '../util/errors.ts'
import { hashOfSecret } from '../util/secret.ts'
import { generateApiKey } from './api-key-config.ts'

/** Marks keys of this program, for people and for log redaction. */
export const keyPrefix = 'smk_'

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
const clientKeys = z.strictObject({
  /** Set by `keys off`: clients need no key. */
  open: z.literal(true).optional(),
  keys: z.array(clientKey),
})

export type ClientKey = z.infer<typeof clientKey>

/** The keys file of an account. Members are named as in the file. */
export type ClientKeys = z.infer<typeof clientKeys>

/**
 * Reads the keys file; null when there is none. Throws `config_invalid` as `readPrivateFile`, and for
 * a damaged file, which must not count as "no keys".
 */
export async function readClientKeys(path: string): Promise<ClientKeys | null> {
  const text = await readPrivateFile(path)
  if (text === null) return null
  try {
    return clientKeys.parse(JSON.parse(text))
  } catch {
    const hint = 'correct it; or move it away and make new keys with service-cli keys create'
    throw unusableFile(path, 'is damaged', hint)
  }
}

/**
 * Reads, changes and writes the keys under a lock; readers see the old file or the new one. Throws
 * as `readClientKeys`, `withFileLock` and `writePrivateFile`; then the file is as before.
 */
export async function updateClientKeys(
  path: string,
  change: (now: ClientKeys) => ClientKeys,
): Promise<void> {
  await withFileLock(join(dirname(path), 'client-keys.lock'), async () => {
    const changed = clientKeys.parse(change((await readClientKeys(path)) ?? { keys: [] }))
    await writePrivateFile(path, `${JSON.stringify(changed, null, 2)}\n`)
  })
}

/**
 * Makes a key and returns it, the only time that it is known. Throws `entry_exists` for a name that
 * is taken, and as `updateClientKeys`.
 */
export async function addClientKey(
  path: string,
  wanted: Pick<ClientKey, 'name' | 'scope' | 'expires_at'>,
): Promise<{ key: string; entry: ClientKey; isFirst: boolean }> {
  const key = keyPrefix + generateApiKey(32)
  const entry = { ...wanted, sha256: hashOfSecret(key), created_at: new Date().toISOString() }
  let isFirst = false
  await updateClientKeys(path, ({ keys }) => {
    isFirst = keys.length === 0
    if (keys.some(({ name }) => name === entry.name)) {
      throw new ServiceError('entry_exists', `there is a key "${entry.name}" already`, {
        hint: 'choose another name, or end that one with service-cli keys revoke',
      })
    }
    return { keys: [...keys, entry] }
  })
  return { key, entry, isFirst }
}
