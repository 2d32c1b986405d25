import { setTimeout as delay } from 'node:timers/promises'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Catalog } from '../postgres/catalog.ts'
import type { Bucket } from './bucket.ts'

/** An object with the id of the installation whose artefacts the bucket holds. */
const key = 'service-cli-store'

/** Objects of installations that are about to mark the bucket. */
const claims = 'service-cli-claim/'
const maxClaims = 10

/**
 * Throws `config_invalid` for a bucket of another installation, and for one without the artefacts
 * of the database. Marks a bucket that is not in use.
 */
export async function claimBucket(bucket: Bucket, catalog: Catalog): Promise<void> {
  const { storeId, entries } = await catalog.identity()
  const owner = async () => (await bucket.readText(key))?.trim()
  let found = await owner()
  if (found === undefined && entries > 0) {
    const message = `${bucket.name} has none of the ${entries} artefacts of the database`
    throw new ServiceError('config_invalid', message, {
      hint: 'name the bucket and the prefix that they are in',
    })
  }
  for (let attempt = 1; found === undefined; attempt++) {
    await markAlone(bucket, storeId, owner)
    found = await owner()
    if (found !== undefined) break
    if (attempt === maxClaims) throw await claimed(bucket)
    await delay(500 * Math.random())
  }
  if (found === storeId) return
  throw new ServiceError('config_invalid', `${bucket.name} belongs to another installation`, {
    hint: 'use another bucket or prefix, or the database that it belongs to',
  })
}

/**
 * Marks the bucket unless another installation is about to. Of two that claim it at once, the later
 * one sees the claim of the other, and each may see that of the other: then both try again.
 */
async function markAlone(
  bucket: Bucket,
  storeId: string,
  owner: () => Promise<string | undefined>,
): Promise<void> {
  const own = claims + storeId
  await bucket.writeText(own, `${storeId}\n`)
  try {
    const isAlone = (await bucket.list(claims)).every(claim => claim === own)
    if (isAlone && (await owner()) === undefined) await bucket.writeText(key, `${storeId}\n`)
  } finally {
    await bucket.remove(own)
  }
}

async function claimed(bucket: Bucket): Promise<ServiceError> {
  const [claim = claims] = await bucket.list(claims)
  const message = `${bucket.name} is being claimed by another installation`
  return new ServiceError('config_invalid', message, {
    hint: `try again; if no other server starts there, remove the object ${claim}`,
  })
}

/** Throws when the bucket does not answer, or has lost the mark. */
export async function checkMarker(bucket: Bucket): Promise<void> {
  if ((await bucket.head(key)) !== null) return
  const reason = `the object ${key} is missing`
  throw new ServiceError('storage_failed', `${bucket.name}: ${reason}`, { data: { reason } })
}
