import { createHash, randomUUID } from 'node:crypto'
import { ServiceError } from '../../../lib/util/errors.ts'
import {
  type BodyBound,
  type BodySource,
  byLimits,
  piecesOf,
  sha256,
  sizeWith,
} from '../body-source.ts'
import type { Describe } from '../describe.ts'
import { maxBodyBytes } from '../expiry.ts'
import type { CatalogPutResult } from '../postgres/catalog-changes.ts'
import type { CatalogRow } from '../postgres/rows.ts'
import { maxObjectBytes } from './bucket.ts'
import { type BucketContext, keyOf } from './context.ts'

interface KnownBytes {
  readonly hex: string
  /** Bytes. */
  readonly size: number
}

/**
 * Stores the bytes. A crash is harmless: the object is reserved, then uploaded, and one transaction,
 * which decides which object a hash has, makes it an artefact. An object that was not used is
 * removed at once, or by the sweep.
 */
export async function putToBucket(
  store: BucketContext,
  source: BodySource,
  describe: Describe,
): Promise<CatalogPutResult> {
  const { bucket, catalog, clock, limits } = store
  const bound = boundOfBody(limits)
  const bytes = source instanceof Uint8Array ? await measure(source, bound) : null
  const renewed = bytes === null ? null : await renew(store, bytes, describe)
  if (renewed !== null) return renewed
  const object = randomUUID()
  let isUsed = false
  await catalog.objects.reserve(object, clock.now())
  try {
    const body = hashed(source, bound)
    await bucket.put(keyOf(object), body.pieces())
    const { hex, size } = body.result()
    const there = await catalog.find(hex, clock.now())
    const lost = there !== null && (await isLost(store, there, size)) ? there.object : null
    const result = await catalog.put({ hex, size, object, lost, describe }, clock.now())
    isUsed = result?.existed === false
    if (result === null) {
      await bucket.remove(keyOf(object))
      const message = `${bucket.name}: the upload took more than a day`
      throw new ServiceError('storage_failed', message, { hint: 'store it over a faster network' })
    }
    return result
  } finally {
    if (!isUsed) await discard(store, object)
  }
}

function boundOfBody(limits: BucketContext['limits']): BodyBound {
  const maxBytes = maxBodyBytes(limits)
  if (maxBytes <= maxObjectBytes) return byLimits(maxBytes)
  return { maxBytes: maxObjectBytes, hint: 'store it in parts: no limit makes an object larger' }
}

/** Stores only the metadata when the same bytes are stored already; null when they are not. */
async function renew(
  store: BucketContext,
  { hex, size }: KnownBytes,
  describe: Describe,
): Promise<CatalogPutResult | null> {
  const { catalog, clock } = store
  const there = await catalog.find(hex, clock.now())
  if (there === null || (await isLost(store, there, size))) return null
  return catalog.put({ hex, size, object: null, lost: null, describe }, clock.now())
}

/** True when the object of the artefact is missing in the bucket, or has another size. */
async function isLost({ bucket }: BucketContext, { object }: CatalogRow, size: number) {
  return (await bucket.head(keyOf(object)))?.size !== size
}

/** Removes an object unless an artefact has it, which is unknown after an unconfirmed commit. */
async function discard({ bucket, catalog, clock, log }: BucketContext, object: string) {
  try {
    if (!(await catalog.objects.take(object, clock.now()))) return
    await bucket.remove(keyOf(object))
    await catalog.objects.forget(object)
  } catch (error) {
    log.debug({ err: error, object }, 'the sweep will remove an object')
  }
}

/** Copies of the pieces, because the source may reuse its memory, with their hash and size. */
function hashed(source: BodySource, bound: BodyBound) {
  const hash = createHash('sha256')
  let size = 0
  return {
    async *pieces(): AsyncGenerator<Uint8Array> {
      for await (const piece of piecesOf(source)) {
        size = sizeWith(piece, size, bound)
        const copy = source instanceof Uint8Array ? piece : new Uint8Array(piece)
        hash.update(copy)
        yield copy
      }
    },
    result: () => ({ hex: hash.digest('hex'), size }),
  }
}

async function measure(bytes: Uint8Array, bound: BodyBound): Promise<KnownBytes> {
  const size = sizeWith(bytes, 0, bound)
  return { hex: await sha256(bytes), size }
}
