import { ServiceError } from '../../../lib/util/errors.ts'
import type { Catalog } from '../postgres/catalog.ts'
import type { Bucket } from './bucket.ts'

/** Its text is the id of the installation whose artefacts lie in the bucket. */
const key = 'service-cli-store'

/**
 * Throws `config_invalid` for a bucket of another installation, and for one without the artefacts
 * of the database. Marks a bucket that is not in use.
 */
export async function claimBucket(bucket: Bucket, catalog: Catalog): Promise<void> {
  const { storeId, entries } = await catalog.identity()
  const owner = async () => (await bucket.readText(key))?.trim()
  if ((await owner()) === undefined) {
    if (entries > 0) {
      const message = `${bucket.name} has none of the ${entries} artefacts of the database`
      throw new ServiceError('config_invalid', message, {
        hint: 'name the bucket and the prefix that they are in',
      })
    }
    await bucket.writeText(key, `${storeId}\n`)
  }
  if ((await owner()) === storeId) return
  throw new ServiceError('config_invalid', `${bucket.name} belongs to another installation`, {
    hint: 'use another bucket or prefix, or the database that it belongs to',
  })
}

/** Throws when the bucket does not answer, or has lost the mark. */
export async function checkMarker(bucket: Bucket): Promise<void> {
  if ((await bucket.head(key)) !== null) return
  const reason = `the object ${key} is missing`
  throw new ServiceError('storage_failed', `${bucket.name}: ${reason}`, { data: { reason } })
}
