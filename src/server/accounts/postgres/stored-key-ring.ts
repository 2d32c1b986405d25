import { ServiceError } from '../../../lib/util/errors.ts'
import type { Logger } from '../../../lib/util/logger.ts'
import type { Database, Queries } from '../../database/pool.ts'
import type { KeyRingSource } from '../keys/stored-keys.ts'
import { makeWrappingKey, readWrappingKey, type WrappingKey } from '../keys/wrapping-key.ts'

/** NOTIFY on it: the keys were changed. */
export const keysChannel = 'accounts_keys'

interface StoredKeyRingOptions {
  readonly database: Database
  /** The file of the wrapping key. */
  readonly file: string
  /** Whose keys they are. */
  readonly registryId: string
  readonly log: Logger
}

interface StoredKeyRing extends KeyRingSource {
  /** Stores this text in place of what is there, which it does not decrypt. */
  replace(text: string): Promise<void>
}

const lock = `SELECT pg_advisory_xact_lock(hashtext('accounts_keys'))`
const select = 'SELECT wrapped FROM accounts_keys'
const upsert = `INSERT INTO accounts_keys (one, wrapped) VALUES (true, $1)
  ON CONFLICT (one) DO UPDATE SET wrapped = excluded.wrapped`
const notify = `SELECT pg_notify('${keysChannel}', '')`

/** The signing keys in a PostgreSQL database, encrypted with a key that is outside of it. */
export function storedKeyRing(options: StoredKeyRingOptions): StoredKeyRing {
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

    async replace(text) {
      await makeWrappingKey(file)
      await database.transact('the signing keys were not stored', async queries => {
        await queries.rows(lock)
        await write(queries, text)
      })
    },
  }
}
