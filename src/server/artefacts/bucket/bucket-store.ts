import { defaultLimits, type Limits } from '../../../lib/config/limits.ts'
import { isArtefactHex } from '../../../lib/mcp/uris.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../../lib/util/logger.ts'
import { checkFacts, checkRegularly } from '../../../lib/util/regular-check.ts'
import { type Clock, systemClock, systemTimer } from '../../../lib/util/time.ts'
import { listen } from '../../database/listener.ts'
import type { Database } from '../../database/pool.ts'
import { WeighedCache } from '../blob-loader.ts'
import type { BodySource } from '../body-source.ts'
import { type Describe, describePut, noOrigin } from '../describe.ts'
import { PageMemory, parseCursor, parseFilter } from '../listing.ts'
import { corrupt } from '../open-artefact.ts'
import type { CopyTarget } from '../copy-artefacts.ts'
import { createOpenToSend } from '../open-to-send.ts'
import { parsePutOptions } from '../put-options.ts'
import { openCatalog } from '../postgres/catalog.ts'
import { type CatalogRow, channel, refOf } from '../postgres/rows.ts'
import type { ArtefactOrigin, ArtefactRef, ArtefactStore, OpenArtefact } from '../store.ts'
import { ChangeListeners, createUpkeep, every, ExpiryTimer } from '../upkeep.ts'
import { expiryMs } from '../expiry.ts'
import type { Bucket } from './bucket.ts'
import { type KnownBytes, putToBucket } from './bucket-put.ts'
import { type BucketContext, keyOf } from './context.ts'
import { checkMarker, claimBucket } from './marker.ts'
import { openObject } from './open-object.ts'

export interface BucketStoreOptions {
  readonly bucket: Bucket
  readonly database: Database
  readonly limits?: Limits
  readonly clock?: Clock
  readonly log?: Logger
  /** Asked at each put. Default: none. */
  readonly origin?: () => ArtefactOrigin
}

export interface BucketStore extends ArtefactStore, CopyTarget {
  /** What the timer does: removes expired artefacts, those beyond the bounds, and objects that are due. */
  sweep(): Promise<void>
}

/** Notices come at once; a lost one is made up for by the next look. */
const lookMs = 5000
/** A damaged object is kept so long for inspection. */
const damagedMs = 24 * 60 * 60 * 1000
const removedAtOnce = 20
/** References kept, so that what did not change is the identical one. */
const keptRefBytes = 16 * 1024 * 1024

/**
 * Artefacts in a bucket, with their catalog in PostgreSQL, which any number of servers may share.
 * Closing the store closes both. Rejects with `storage_unavailable` while one of them is away.
 */
export async function createBucketStore(options: BucketStoreOptions): Promise<BucketStore> {
  const { bucket, database, limits = defaultLimits, clock = systemClock } = options
  const { log = silentLogger, origin = () => noOrigin } = options
  const catalog = await openCatalog(database, limits)
  await claimBucket(bucket, catalog)
  const store: BucketContext = { bucket, catalog, limits, clock, log, origin }
  const listeners = new ChangeListeners(log)
  const onRemove = new Set<(hex: string) => void>()
  const pages = new PageMemory()
  const refs = new WeighedCache<{ readonly change: number; readonly ref: ArtefactRef }>(
    keptRefBytes,
  )
  const inBackground = createUpkeep(log)
  const expiry = new ExpiryTimer(clock, () => inBackground(sweep))
  let seen = await catalog.lastChange()
  let looking: Promise<void> = Promise.resolve()
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

  /** Tells the listeners of changes of any server, one look after the other. */
  function look(): Promise<void> {
    const next = looking.then(async () => {
      const { change, removed, earliestExpiryMs } = await catalog.news(seen)
      if (limits.artefactSweepMs > 0) expiry.set(earliestExpiryMs)
      if (change === seen) return
      seen = change
      for (const hex of removed) for (const listener of onRemove) listener(hex)
      listeners.notify()
    })
    looking = next.catch(() => {})
    return next
  }

  /** After a change that succeeded: a look that fails is made up for by the next one. */
  const announce = () => look().catch(error => log.debug({ err: error }, 'changes are told later'))

  async function clean(): Promise<void> {
    await catalog.clean(clock.now())
    await announce()
    for (let count = removedAtOnce; count === removedAtOnce && !isClosing;) {
      const due = await catalog.objects.takeDue(clock.now(), removedAtOnce)
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

  async function find(hex: string): Promise<CatalogRow | null> {
    return isArtefactHex(hex) ? catalog.find(hex, clock.now()) : null
  }

  async function open(hex: string): Promise<OpenArtefact | null> {
    const row = await find(hex)
    if (row === null) return null
    const ref = refFor(row)
    const { object } = row
    const key = keyOf(object)
    const facts = await bucket.head(key)
    if (facts === null) {
      // Removed or stored again in the meantime?
      const now = await find(hex)
      if (now?.object !== object) return now === null ? null : open(hex)
      const hint = 'store the artefact again'
      throw new ServiceError('artefact_corrupt', `${ref.uri} is missing in ${bucket.name}`, {
        hint,
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

  async function storeAs(source: BodySource, describe: Describe, known?: KnownBytes) {
    const { ref, existed } = await putToBucket(store, source, describe, known)
    await announce()
    return { ref, existed }
  }

  const checkBucket = checkRegularly(() => checkMarker(bucket))
  const checkDatabase = checkRegularly(() => database.rows('it does not answer', 'SELECT 1'))
  const sweepTimer = every(limits.artefactSweepMs, () => inBackground(sweep))
  const stopListening = listen({
    ...{ database, channel, timer: systemTimer, log, pollMs: lookMs },
    reread: () => announce(),
  })

  return {
    sweep,

    async put(source, putOptions = {}) {
      const fields = parsePutOptions(putOptions, clock.now(), limits)
      return storeAs(source, describePut(store, fields))
    },

    copyIn: (source, known, describe) => storeAs(source, describe, known),

    totals: () => catalog.identity(),

    async find(hex) {
      const row = await find(hex)
      return row === null ? null : refFor(row)
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

    // Another server may have changed it: only the catalog knows.
    samePage: () => null,

    startingWith: (prefix, limit) => catalog.startingWith(prefix, limit, clock.now()),

    async remove(hex) {
      if (!isArtefactHex(hex)) return false
      const removed = await catalog.remove(hex, clock.now())
      await announce()
      return removed
    },

    onChange: listener => listeners.add(listener),

    onRemove(listener) {
      const own = (hex: string) => listener(hex)
      onRemove.add(own)
      return () => void onRemove.delete(own)
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
      await looking
      bucket.close()
      await database.close()
    },
  }
}
