import { defaultArtefactLimits, type ArtefactLimits } from '../limits.ts'
import { isArtefactHex } from '../../../lib/mcp/uris.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../../lib/util/logger.ts'
import { checkFacts, checkRegularly } from '../database/regular-check.ts'
import { type Clock, systemClock, systemTimer } from '../../../lib/util/time.ts'
import { listen } from '../database/listener.ts'
import type { Database } from '../database/pool.ts'
import { WeighedCache } from '../blob-loader.ts'
import { describePut, noOrigin } from '../describe.ts'
import { PageMemory, parseCursor, parseFilter } from '../listing.ts'
import { corrupt } from '../open-artefact.ts'
import { createOpenToSend } from '../open-to-send.ts'
import { parsePutOptions } from '../put-options.ts'
import { openCatalog } from '../postgres/catalog.ts'
import { type CatalogRow, channel, refOf } from '../postgres/rows.ts'
import type { ArtefactOrigin, ArtefactRef, ArtefactStore, OpenArtefact } from '../store.ts'
import { ChangeListeners, createUpkeep, every, ExpiryTimer } from '../upkeep.ts'
import { expiryMs } from '../expiry.ts'
import type { Bucket } from './bucket.ts'
import { putToBucket } from './bucket-put.ts'
import { type BucketContext, keyOf } from './context.ts'
import { checkMarker, claimBucket } from './marker.ts'
import { openObject } from './open-object.ts'

export interface BucketStoreOptions {
  readonly bucket: Bucket
  readonly database: Database
  readonly limits?: ArtefactLimits
  readonly clock?: Clock
  readonly log?: Logger
  /** Asked at each put. Default: none. */
  readonly origin?: () => ArtefactOrigin
}

export interface BucketStore extends ArtefactStore {
  /** What the timer does: removes expired artefacts, those beyond the bounds, and objects that are due. */
  sweep(): Promise<void>
}

/** Changes are announced by notices; polling finds those whose notice was lost. */
const pollMs = 5000
/** How long a damaged object is kept for inspection. */
const damagedMs = 24 * 60 * 60 * 1000
/** Objects that the sweep removes at the same time. */
const removalsAtOnce = 20
/** For references that are the identical one until they change. */
const refCacheBytes = 16 * 1024 * 1024

/**
 * Artefacts in a bucket, with their catalog in PostgreSQL, which any number of servers may share.
 * Closing the store closes both. Rejects with `storage_unavailable` while one of them is away.
 */
export async function createBucketStore(options: BucketStoreOptions): Promise<BucketStore> {
  const { bucket, database, limits = defaultArtefactLimits, clock = systemClock } = options
  const { log = silentLogger, origin = () => noOrigin } = options
  const catalog = await openCatalog(database, limits)
  await claimBucket(bucket, catalog)
  const store: BucketContext = { bucket, catalog, limits, clock, log, origin }
  const listeners = new ChangeListeners(log)
  const onRemove = new Set<(hex: string) => void>()
  const pages = new PageMemory()
  const refs = new WeighedCache<{ readonly change: number; readonly ref: ArtefactRef }>(
    refCacheBytes,
  )
  const inBackground = createUpkeep(log)
  const expiry = new ExpiryTimer(clock, () => inBackground(sweep))
  let announced = await catalog.lastChange()
  let announcing: Promise<void> = Promise.resolve()
  let sweeping: Promise<void> | undefined
  let isClosing = false

  /** The identical reference until the row changes. */
  function refFor(row: CatalogRow): ArtefactRef {
    const kept = refs.get(row.hex)
    if (kept?.change === row.change) return kept.ref
    const ref = refOf(row)
    refs.set(row.hex, { change: row.change, ref }, row.sidecar.length)
    return ref
  }

  /** Tells the listeners of changes by any server, one call after the other. Never rejects. */
  function announce(): Promise<void> {
    announcing = announcing
      .then(async () => {
        const { change, removed, earliestExpiryMs } = await catalog.news(announced)
        if (limits.artefactSweepMs > 0) expiry.set(earliestExpiryMs)
        if (change === announced) return
        announced = change
        for (const hex of removed) for (const listener of onRemove) listener(hex)
        listeners.notify()
      })
      .catch(error => log.debug({ err: error }, 'changes are announced later'))
    return announcing
  }

  async function clean(): Promise<void> {
    await catalog.clean(clock.now())
    await announce()
    for (let count = removalsAtOnce; count === removalsAtOnce && !isClosing;) {
      const due = await catalog.objects.takeDue(clock.now(), removalsAtOnce)
      count = due.length
      await Promise.all(due.map(removeObject))
    }
  }

  async function removeObject(object: string): Promise<void> {
    await bucket.remove(keyOf(object))
    await catalog.objects.forget(object)
  }

  function sweep(): Promise<void> {
    sweeping ??= clean().finally(() => {
      sweeping = undefined
    })
    return sweeping
  }

  async function findRow(hex: string): Promise<CatalogRow | null> {
    return isArtefactHex(hex) ? catalog.find(hex, clock.now()) : null
  }

  async function open(hex: string): Promise<OpenArtefact | null> {
    const row = await findRow(hex)
    if (row === null) return null
    const ref = refFor(row)
    const { object } = row
    const key = keyOf(object)
    const facts = await bucket.head(key)
    if (facts === null) {
      // It may have been removed or stored again meanwhile.
      if ((await findRow(hex))?.object !== object) return open(hex)
      throw new ServiceError('artefact_corrupt', `${ref.uri} is missing in ${bucket.name}`, {
        hint: 'store the artefact again',
      })
    }
    async function onDamage(): Promise<void> {
      log.error({ digest: ref.digest, object: key }, 'damaged artefact removed')
      await catalog.remove(hex, clock.now(), object, damagedMs)
      await announce()
    }
    if (facts.size !== ref.size_bytes) {
      await onDamage()
      throw corrupt(ref)
    }
    return openObject({ bucket, key, facts, ref, onDamage })
  }

  const checkBucket = checkRegularly(() => checkMarker(bucket))
  const checkDatabase = checkRegularly(() => database.rows('it does not answer', 'SELECT 1'))
  const sweepTimer = every(limits.artefactSweepMs, () => inBackground(sweep))
  const stopListening = listen({
    database,
    channel,
    timer: systemTimer,
    log,
    pollMs,
    reread: announce,
  })

  return {
    sweep,

    async put(source, putOptions = {}) {
      const fields = parsePutOptions(putOptions, clock.now(), limits)
      const { ref, existed, isFull } = await putToBucket(store, source, describePut(store, fields))
      await announce()
      if (isFull && limits.artefactSweepMs > 0) inBackground(sweep)
      return { ref, existed }
    },

    async find(hex) {
      const row = await findRow(hex)
      return row && refFor(row)
    },

    open,
    openToSend: createOpenToSend(open),

    async page(after, limit, filter = {}) {
      const position = after === undefined ? null : parseCursor(after)
      const wanted = parseFilter(filter)
      const isWhole = Object.keys(filter).length === 0
      const nowMs = clock.now()
      const change = isWhole ? await catalog.lastChange() : 0
      const known = isWhole ? pages.get(after, limit, change, nowMs) : null
      if (known !== null) return known
      const count = Math.max(1, Math.floor(limit))
      const { rows, next } = await catalog.page(position, count, wanted, nowMs)
      const page = { refs: rows.map(refFor), ...(next !== undefined && { next }) }
      const ends = page.refs.map(ref => expiryMs(ref, limits.artefactTtlMs))
      if (isWhole) pages.set(after, limit, change, page, Math.min(...ends))
      return page
    },

    startingWith: (prefix, limit) => catalog.startingWith(prefix, limit, clock.now()),

    async remove(hex) {
      if (!isArtefactHex(hex)) return false
      const removed = await catalog.remove(hex, clock.now())
      await announce()
      return removed
    },

    onChange: listener => listeners.add(listener),

    onRemove(listener) {
      onRemove.add(listener)
      return () => void onRemove.delete(listener)
    },

    async health() {
      const [bucketFacts, databaseFacts] = [checkFacts(checkBucket()), checkFacts(checkDatabase())]
      return { bucket: await bucketFacts, database: await databaseFacts }
    },

    async close() {
      isClosing = true
      expiry.close()
      clearInterval(sweepTimer)
      stopListening()
      listeners.clear()
      await sweeping?.catch(() => {})
      await announcing
      bucket.close()
      await database.close()
    },
  }
}
