import type { Clock } from '../../src/lib/util/time.ts'
import type { Bucket } from '../../src/server/artefacts/bucket/bucket.ts'
import {
  type BucketStore,
  createBucketStore,
} from '../../src/server/artefacts/bucket/bucket-store.ts'
import type { Database } from '../../src/server/artefacts/database/pool.ts'
import { settableClock } from '../helpers/settable-clock.ts'
import type { Postgres } from './postgres.ts'
import type { Swift } from './swift.ts'
import { type Bounds, boundsWith } from '../helpers/bounds.ts'

interface OpenedBucketStore {
  readonly store: BucketStore
  readonly bucket: Bucket
  readonly database: Database
  /** Key of the object of an artefact. */
  keyOf(hex: string): Promise<string>
  /** Objects that no artefact has, and which the sweep removes when they are due. */
  spare(): Promise<readonly string[]>
  /** Changes the last byte of what is stored under a hash. */
  damage(hex: string): Promise<void>
}

export interface Place {
  readonly bucket: string
  readonly database: string
}

/** A new installation: a prefix of the bucket and a schema of the database. */
export async function newPlace(postgres: Postgres, bucket: string): Promise<Place> {
  return { bucket: `${bucket}/p${++places.made}`, database: await postgres.schema() }
}

const places = { made: 0 }

/** Opens stores on a bucket and a database, which are closed after each test. */
export function useBucketStores(servers: () => { postgres: Postgres; swift: Swift }) {
  const opened: BucketStore[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(store => store.close()))
  })
  return async (
    place: Place,
    given: { limits?: Partial<Bounds>; clock?: Clock; endpoint?: string } = {},
  ): Promise<OpenedBucketStore> => {
    const { postgres, swift } = servers()
    const database = await postgres.open(place.database)
    const bucket = await swift.open(place.bucket, given.endpoint)
    const { clock = settableClock() } = given
    const limits = boundsWith({ artefactSweepMs: 0, ...given.limits })
    const store = await createBucketStore({ bucket, database, limits, clock }).catch(
      async error => {
        bucket.close()
        await database.close()
        throw error
      },
    )
    opened.push(store)
    const objects = (sql: string, ...values: string[]) =>
      database.run('a test', async queries => {
        const rows = await queries.rows<{ object: string }>(sql, ...values)
        return rows.map(({ object }) => `o/${object}`)
      })
    const keyOf = async (hex: string) =>
      (await objects('SELECT object FROM artefacts WHERE hex = $1', hex))[0] ?? ''
    return {
      store,
      bucket,
      database,
      keyOf,
      spare: () => objects('SELECT object FROM artefact_objects ORDER BY object'),
      async damage(hex) {
        const key = await keyOf(hex)
        const facts = await bucket.head(key)
        const stream = await bucket.get(key, facts?.etag ?? '', 0, facts?.size ?? 0)
        const bytes = Buffer.concat(await Array.fromAsync(stream ?? []))
        bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
        await bucket.put(
          key,
          (async function* () {
            yield bytes
          })(),
        )
      },
    }
  }
}
