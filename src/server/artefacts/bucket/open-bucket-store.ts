import { openDatabaseClock } from '../database/clock.ts'
import { openDatabase } from '../database/pool.ts'
import { openBucket } from './bucket.ts'
import { type BucketStore, type BucketStoreOptions, createBucketStore } from './bucket-store.ts'
import type { BucketSettings } from './settings.ts'

/** Where artefacts are when they are not in files of this machine. */
export interface BucketStoreSettings {
  readonly bucket: BucketSettings
  /** Holds the catalog. */
  readonly database: URL
}

/**
 * Connects to both, so that wrong settings fail at the start. Times are those of the database.
 */
export async function openBucketStore(
  { bucket, database }: BucketStoreSettings,
  options: Required<Omit<BucketStoreOptions, 'bucket' | 'database' | 'clock'>>,
): Promise<BucketStore> {
  const { log } = options
  const waitMs = 5000
  await using opened = new AsyncDisposableStack()
  const objects = await openBucket({ settings: bucket, waitMs })
  opened.defer(() => objects.close())
  const catalog = await openDatabase({ settings: database, log, waitMs })
  opened.defer(() => catalog.close())
  const clock = await openDatabaseClock(catalog)
  const store = await createBucketStore({ ...options, bucket: objects, database: catalog, clock })
  opened.move()
  return store
}
