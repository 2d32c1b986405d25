import { createHash, randomUUID } from 'node:crypto'
import { ServiceError } from '../../../lib/util/errors.ts'
import { type BodySource, piecesOf, sha256, sizeWith } from '../body-source.ts'
import { describeArtefact } from '../describe.ts'
import { maxBodyBytes } from '../expiry.ts'
import type { PutFields } from '../put-options.ts'
import type { CatalogRow } from '../postgres/rows.ts'
import type { PutResult } from '../store.ts'
import { maxObjectBytes } from './bucket.ts'
import { type BucketContext, keyOf } from './context.ts'

/**
 * Stores the bytes. The order makes a crash harmless: the object is reserved, uploaded, and becomes
 * an artefact by one transaction, which decides which object a hash has. An object that was not
 * used goes at once, or by the sweep.
 */
export async function putToBucket(
  store: BucketContext,
  source: BodySource,
  fields: PutFields,
): Promise<PutResult> {
  const { bucket, catalog, clock, limits } = store
  const maxBytes = Math.min(maxBodyBytes(limits), maxObjectBytes)
  if (source instanceof Uint8Array) {
    const size = sizeWith(source, 0, maxBytes)
    const known = await renew(store, await sha256(source), size, fields)
    if (known !== null) return known
  }
  const object = randomUUID()
  let isUsed = false
  await catalog.objects.reserve(object, clock.now())
  try {
    const body = hashed(source, maxBytes)
    await bucket.put(keyOf(object), body.pieces())
    const { hex, size } = body.result()
    const known = await catalog.find(hex, clock.now())
    const lost = known !== null && (await isLost(store, known, size)) ? known.object : null
    const result = await commit(store, { hex, size, object, lost, fields })
    isUsed = result?.isUsed === true
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

/** Stores nothing but the metadata when the same bytes are there. */
async function renew(
  store: BucketContext,
  hex: string,
  size: number,
  fields: PutFields,
): Promise<PutResult | null> {
  const known = await store.catalog.find(hex, store.clock.now())
  if (known === null || (await isLost(store, known, size))) return null
  return commit(store, { hex, size, object: null, lost: null, fields })
}

/** The bucket does not have the object of the artefact any more. */
async function isLost({ bucket }: BucketContext, { object }: CatalogRow, size: number) {
  return (await bucket.head(keyOf(object)))?.size !== size
}

interface Uploaded {
  readonly hex: string
  readonly size: number
  readonly object: string | null
  readonly lost: string | null
  readonly fields: PutFields
}

function commit(store: BucketContext, { hex, size, object, lost, fields }: Uploaded) {
  const { catalog, clock, limits, origin } = store
  const nowMs = clock.now()
  const stored = { hex, size, fields, origin: origin(), nowMs, ttlMs: limits.artefactTtlMs }
  return catalog.put(
    { hex, object, lost, describe: previous => describeArtefact({ ...stored, previous }) },
    nowMs,
  )
}

/**
 * Also after a commit whose outcome is not known: the catalog then says whether an artefact has the
 * object.
 */
async function discard({ bucket, catalog, clock, log }: BucketContext, object: string) {
  try {
    if (!(await catalog.objects.take(object, clock.now()))) return
    await bucket.remove(keyOf(object))
    await catalog.objects.forget(object)
  } catch (error) {
    log.debug({ err: error, object }, 'an object is left to the sweep')
  }
}

/** The pieces as they are uploaded, which are copies: the source may use its memory again. */
function hashed(source: BodySource, maxBytes: number) {
  const hash = createHash('sha256')
  let size = 0
  return {
    async *pieces(): AsyncGenerator<Uint8Array> {
      for await (const piece of piecesOf(source)) {
        size = sizeWith(piece, size, maxBytes)
        const copy = source instanceof Uint8Array ? piece : new Uint8Array(piece)
        hash.update(copy)
        yield copy
      }
    },
    result: () => ({ hex: hash.digest('hex'), size }),
  }
}
