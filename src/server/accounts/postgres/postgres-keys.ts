import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import { replaceFile } from '../../../lib/util/replace-file.ts'
import type { Database, Queries } from '../../artefacts/database/pool.ts'
import { readKeyFile } from '../keys/key-file.ts'
import type { KeyRingSource } from '../keys/key-store.ts'

/** The NOTIFY channel for changes of the keys. */
export const keysChannel = 'accounts_keys'

interface PostgresKeysOptions {
  readonly database: Database
  /** The file of the wrapping key. */
  readonly file: string
  /** Whose keys they are. */
  readonly registryId: string
  readonly log: Logger
}

const lock = `SELECT pg_advisory_xact_lock(hashtext('accounts_keys'))`
const select = 'SELECT wrapped FROM accounts_keys'
const upsert = `INSERT INTO accounts_keys (one, wrapped) VALUES (true, $1)
  ON CONFLICT (one) DO UPDATE SET wrapped = excluded.wrapped`
const notify = `SELECT pg_notify('${keysChannel}', '')`

/** The signing keys in a PostgreSQL database, encrypted with a key that is outside of it. */
export function postgresKeys(options: PostgresKeysOptions): KeyRingSource {
  const { database, file, registryId, log } = options
  let wrappingKey: WrappingKey | null = null

  async function unwrap(wrapped: Buffer): Promise<string> {
    wrappingKey ??= await readWrappingKey(file, log)
    if (wrappingKey === null) throw unusable(`${file} is missing`)
    const text = wrappingKey.unwrap(wrapped, registryId)
    if (text !== null) return text
    wrappingKey = null
    throw unusable(`${file} holds another key`)
  }

  async function read(queries: Queries): Promise<string | null> {
    const row = await queries.row<{ wrapped: Buffer }>(select)
    return row === null ? null : unwrap(row.wrapped)
  }

  async function write(queries: Queries, text: string): Promise<void> {
    wrappingKey ??= await readWrappingKey(file, log)
    if (wrappingKey === null) throw unusable(`the file ${file} vanished`)
    await queries.change(upsert, wrappingKey.wrap(text, registryId))
    await queries.change(notify)
  }

  function unusable(why: string): ServiceError {
    return new ServiceError(
      'config_invalid',
      `the signing keys in ${database.name} cannot be decrypted: ${why}`,
      { hint: `copy ${file} from another accounts server or a backup, with mode 0600` },
    )
  }

  return {
    name: `row of signing keys in ${database.name}`,
    hints: {
      damaged: 'restore a backup of the database',
      absent: 'start an accounts server on the database once',
    },
    read: () => database.run('the signing keys were not read', read),
    look: async reread => void (await reread()),

    change: next =>
      database.transact('the signing keys were not changed', async queries => {
        await queries.rows(lock)
        const before = await read(queries)
        const after = await next(before)
        if (after === before) return
        if (before === null) await makeWrappingKey(file)
        await write(queries, after)
      }),
  }
}

/**
 * The key that the signing keys in a database are encrypted with, in a file of its own: a copy of
 * the database alone signs no token. Every accounts server of the database has the same file.
 */
interface WrappingKey {
  /** Authenticates `context`: what was wrapped for one cannot be unwrapped for another. */
  wrap(text: string, context: string): Buffer
  /** Null for another key, another context, or changed bytes. */
  unwrap(wrapped: Buffer, context: string): string | null
}

const form = /^[A-Za-z0-9_-]{43}\n?$/
const algorithm = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16

/** Null when the file is missing. Throws `registry_dir_unsafe`, `config_invalid`. */
async function readWrappingKey(file: string, log: Logger): Promise<WrappingKey | null> {
  const text = await readKeyFile(file, log)
  if (text === null) return null
  if (!form.test(text)) {
    const hint = 'copy it again from another accounts server'
    throw new ServiceError('config_invalid', `${file} is not a wrapping key`, { hint })
  }
  return wrappingKey(Buffer.from(text, 'base64url'))
}

/** Creates the file when it is missing. */
async function makeWrappingKey(file: string): Promise<void> {
  await replaceFile(file, `${randomBytes(32).toString('base64url')}\n`, { exclusive: true })
}

function wrappingKey(key: Buffer): WrappingKey {
  return {
    wrap(text, context) {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed])
    },

    unwrap(wrapped, context) {
      try {
        const decipher = createDecipheriv(algorithm, key, wrapped.subarray(0, ivBytes))
          .setAAD(Buffer.from(context))
          .setAuthTag(wrapped.subarray(ivBytes, ivBytes + tagBytes))
        const sealed = wrapped.subarray(ivBytes + tagBytes)
        return Buffer.concat([decipher.update(sealed), decipher.final()]).toString('utf8')
      } catch {
        return null
      }
    },
  }
}
