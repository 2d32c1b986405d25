import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { defaultLimits, type Limits } from '../../lib/config/limits.ts'
import { isArtefactHex } from '../../lib/mcp/uris.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import { type Clock, systemClock } from '../../lib/util/time.ts'
import { encodeCursor, type Entry, EntryIndex, parseCursor } from './entry-index.ts'
import { type ArtefactFiles, type Body, type StoredSidecar, withStorageErrors } from './files.ts'
import { type ArtefactOptions, parsePutOptions, type PutFields } from './put-options.ts'
import { type ArtefactOrigin, type ArtefactRef, describePut } from './sidecar.ts'
import { expiryMs, parseSidecar } from './sidecar.ts'
import { type BodySource, spool, type Spooled } from './spool.ts'

export type { ArtefactOptions, ArtefactRef }

export interface ArtefactPage {
  /** Newest first. */
  readonly refs: readonly ArtefactRef[]
  /** Opaque position of the next page; absent on the last one. */
  readonly next?: string | undefined
}

export interface PutResult {
  readonly ref: ArtefactRef
  /** The bytes were there before. */
  readonly existed: boolean
}

/** An artefact opened for reading: `await using` closes it. Pieces are valid as those of `Body`. */
export interface OpenArtefact extends AsyncDisposable {
  readonly ref: ArtefactRef
  /** Bytes `start` to `end` (exclusive), unverified. */
  range(start: number, end: number): AsyncIterable<Uint8Array>
  /**
   * All bytes; throws `artefact_corrupt` before the last of them when they are damaged. They are
   * hashed until they were found right once, and again when the file or object has changed.
   */
  verified(): AsyncIterable<Uint8Array>
}

export interface StoreOptions {
  limits?: Pick<Limits, 'maxArtefactBytes' | 'maxArtefactTotalBytes' | 'artefactTtlMs'>
  /** The oldest artefacts beyond this many are removed. Default 100,000; 0 = no bound. */
  maxArtefacts?: number
  clock?: Clock
  log?: Logger
  /** Asked at each put. Default: none. */
  origin?: () => ArtefactOrigin
}

const noOrigin: ArtefactOrigin = Object.freeze({ instance_id: null, dcc_type: null })
/** Sidecars that are read before other tasks run. */
const readsAtOnce = 64
/** Pages of an unchanged store that are kept. */
const maxPages = 8

/**
 * Content-addressed storage in a folder or a bucket, which several processes may share. A put that
 * returned is durable. The index in memory is a cache of the sidecars. Opened at its first use.
 */
export class ArtefactStore {
  readonly #files: ArtefactFiles
  readonly #limits: Required<StoreOptions>['limits']
  readonly #maxArtefacts: number
  readonly #clock: Clock
  readonly #log: Logger
  readonly #origin: () => ArtefactOrigin
  readonly #index = new EntryIndex()
  readonly #listeners = new Set<() => void>()
  #announced = 0
  /** Hash → the change that runs; the next one of the same artefact waits for it. */
  readonly #changing = new Map<string, Promise<unknown>>()
  /** Hashes that this process changed while the shards are being read. */
  readonly #changed = new Set<string>()
  /** Hash → version of sidecars that cannot be used. */
  readonly #invalid = new Map<string, string>()
  /** Digest → state of a body that was found right. */
  readonly #undamaged = new LRUCache<string, string>({ max: 10_000 })
  readonly #pages = new Map<string, ArtefactPage>()
  #pagesOf = 0
  #starting: Promise<void> | null = null
  #refreshing: Promise<void> | null = null
  #refreshedMs = -Infinity
  #timer: NodeJS.Timeout | undefined
  #hasFailed = false

  constructor(files: ArtefactFiles, options: StoreOptions = {}) {
    this.#files = files
    this.#limits = options.limits ?? defaultLimits
    this.#maxArtefacts = options.maxArtefacts ?? 100_000
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silentLogger
    this.#origin = options.origin ?? (() => noOrigin)
  }

  /** Reads all sidecars. Rejects when the place of the artefacts cannot be used. */
  async start(): Promise<void> {
    this.#starting ??= withStorageErrors('cannot open the artefact store', async () => {
      await this.#files.open()
      await this.refresh()
    }).catch(error => {
      this.#starting = null
      throw error
    })
    await this.#starting
  }

  /**
   * Stores the bytes; the same ones again keep one artefact, with the newest metadata and the later
   * expiry. Throws `body_invalid`, `artefact_too_large`, `storage_full`, `storage_failed`,
   * `storage_unavailable`, and errors of the source unchanged.
   */
  async put(source: BodySource, options?: ArtefactOptions): Promise<PutResult> {
    const fields = parsePutOptions(options ?? {}, this.#clock.now())
    await this.start()
    const { maxArtefactBytes, maxArtefactTotalBytes } = this.#limits
    const maxBytes = Math.min(maxArtefactBytes || Infinity, maxArtefactTotalBytes || Infinity)
    const body = await spool(this.#files.spoolFolder, source, maxBytes)
    try {
      const put = await withStorageErrors('cannot store the artefact', () =>
        this.#exclusively(body.hex, () => this.#save(body, fields)),
      )
      await this.#evict(body.hex).catch(error => {
        // The artefact itself is stored; the next refresh tries again.
        this.#log.error({ err: error }, 'the oldest artefacts cannot be removed')
      })
      this.#announce()
      return put
    } finally {
      await body.discard()
    }
  }

  /** Null when nothing (unexpired) is stored under the hash. */
  async find(hex: string): Promise<ArtefactRef | null> {
    if (!isArtefactHex(hex)) return null
    await this.start()
    return withStorageErrors('cannot read the artefact', async () => {
      let entry = this.#index.get(hex)
      if (entry === undefined || !this.#files.isCurrent(hex, entry.version)) {
        entry = this.#entryOf(hex, await this.#files.sidecar(hex))
        if (entry === undefined) this.#index.remove([hex])
        else this.#index.put([entry])
        this.#announce()
      }
      return entry === undefined || entry.expiresMs <= this.#clock.now() ? null : entry.ref
    })
  }

  /** Null as `find`. Throws `artefact_corrupt` for a body of another size. */
  async open(hex: string): Promise<OpenArtefact | null> {
    const ref = await this.find(hex)
    if (ref === null) return null
    const body = await withStorageErrors('cannot open the artefact', () => this.#files.body(hex))
    if (body === null) return null
    if (body.size !== ref.size_bytes) {
      await body.close()
      throw this.#corrupt(ref)
    }
    return {
      ref,
      range: (start, end) => body.read(Math.max(0, start), Math.min(end, body.size)),
      verified: () => this.#verified(ref, body),
      [Symbol.asyncDispose]: () => body.close(),
    }
  }

  /** Up to `limit` artefacts after the cursor `after`. The identical page until something changes. */
  async page(after: string | undefined, limit: number): Promise<ArtefactPage> {
    const position = after === undefined ? null : parseCursor(after)
    await this.#look()
    if (this.#pagesOf !== this.#index.changes || this.#pages.size >= maxPages) this.#pages.clear()
    this.#pagesOf = this.#index.changes
    const key = `${limit} ${after ?? ''}`
    const known = this.#pages.get(key)
    if (known !== undefined) return known
    const { ordered } = this.#index
    const start = position === null ? 0 : this.#index.countUpTo(position)
    const entries = ordered.slice(start, start + limit)
    const last = entries.at(-1)
    const next = last && start + limit < ordered.length ? encodeCursor(last) : undefined
    const page = { refs: entries.map(({ ref }) => ref), next }
    this.#pages.set(key, page)
    return page
  }

  /** Up to `limit` hashes that start with `prefix`, those stored last first. */
  async startingWith(prefix: string, limit: number): Promise<readonly string[]> {
    await this.#look()
    const found: string[] = []
    for (const { hex } of this.#index.ordered) {
      if (found.length >= limit) break
      if (hex.startsWith(prefix)) found.push(hex)
    }
    return found
  }

  /** False when nothing was stored under the hash. */
  async remove(hex: string): Promise<boolean> {
    if (!isArtefactHex(hex)) return false
    await this.start()
    return withStorageErrors('cannot remove the artefact', async () => {
      const existed = await this.#exclusively(hex, () => this.#removeFiles(hex))
      this.#announce()
      return existed
    })
  }

  /**
   * Called after artefacts were added or removed, by this process or another. Returns the
   * unsubscribe.
   */
  onChange(listener: () => void): () => void {
    this.#timer ??= setInterval(() => void this.#refreshInBackground(), this.#files.refreshMs)
    this.#timer.unref()
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * What the timer does: takes over what other processes changed, and removes what expired or is
   * beyond the bounds.
   */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#readChanges().finally(() => {
      this.#refreshing = null
    })
    return this.#refreshing
  }

  /** Stops the timer; stored bytes stay. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#listeners.clear()
    await this.#refreshing?.catch(() => {})
    this.#files.close()
  }

  async #refreshInBackground(): Promise<void> {
    // Until its first use it is not opened.
    if (this.#starting === null) return
    try {
      await this.refresh()
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) this.#log.error({ err: error }, 'the artefacts cannot be listed')
      this.#hasFailed = true
    }
  }

  async #look(): Promise<void> {
    await this.start()
    const ageMs = performance.now() - this.#refreshedMs
    const hasExpired = this.#index.earliestExpiryMs <= this.#clock.now()
    if (hasExpired || ageMs >= this.#files.refreshMs || this.#files.hasNews()) {
      await withStorageErrors('cannot list the artefacts', () => this.refresh())
    }
  }

  async #readChanges(): Promise<void> {
    const beganMs = performance.now()
    this.#changed.clear()
    const wanted: string[] = []
    for await (const { name, versions } of this.#files.changedShards()) {
      const entries = this.#index.shard(name)
      const gone = [...entries.keys()].filter(hex => !versions.has(hex))
      this.#index.remove(gone.filter(hex => !this.#changed.has(hex)))
      for (const [hex, version] of versions) {
        const isKnown = entries.get(hex)?.version === version || this.#invalid.get(hex) === version
        if (!isKnown) wanted.push(hex)
      }
    }
    const found: Entry[] = []
    for (let at = 0; at < wanted.length; at += readsAtOnce) {
      const batch = wanted.slice(at, at + readsAtOnce)
      const read = async (hex: string) => this.#entryOf(hex, await this.#files.sidecar(hex)) ?? []
      found.push(...(await Promise.all(batch.map(read))).flat())
      await nextTurn()
    }
    this.#index.put(found.filter(({ hex }) => !this.#changed.has(hex)))
    this.#refreshedMs = beganMs
    for (const entry of this.#index.removeExpired(this.#clock.now())) {
      await this.#removeUnchanged(entry)
    }
    await this.#evict()
    this.#announce()
  }

  /** Undefined when there is no sidecar, or one that cannot be used, which is logged once. */
  #entryOf(hex: string, sidecar: StoredSidecar | null): Entry | undefined {
    if (sidecar === null) return undefined
    const { text, version } = sidecar
    const parsed = parseSidecar(text, hex)
    if (parsed.ok) return this.#entry(hex, parsed.value, version)
    if (this.#invalid.get(hex) !== version) {
      this.#log.warn(
        { hex, reason: parsed.failure },
        'an artefact with an invalid sidecar is hidden',
      )
    }
    this.#invalid.set(hex, version)
    return undefined
  }

  #entry(hex: string, ref: ArtefactRef, version: string): Entry {
    const expiresMs = expiryMs(ref, this.#limits.artefactTtlMs)
    return { hex, createdMs: Date.parse(ref.created_at), expiresMs, ref, version }
  }

  async #save(body: Spooled, fields: PutFields): Promise<PutResult> {
    const { hex, size } = body
    const nowMs = this.#clock.now()
    let put: PutResult | undefined
    const version = await this.#files.save(body, text => {
      const parsed = text === null ? null : parseSidecar(text, hex)
      const there = parsed?.ok ? parsed.value : null
      const ttlMs = this.#limits.artefactTtlMs
      const previous = there !== null && expiryMs(there, ttlMs) > nowMs ? there : null
      const origin = this.#origin()
      const ref = describePut(fields, { hex, size, nowMs, ttlMs, origin, previous })
      put = { ref, existed: previous !== null }
      return `${JSON.stringify(ref)}\n`
    })
    if (put === undefined) throw new Error('the artefact was stored without a sidecar')
    this.#index.put([this.#entry(hex, put.ref, version)])
    return put
  }

  async #removeFiles(hex: string): Promise<boolean> {
    const existed = await this.#files.remove(hex)
    this.#index.remove([hex])
    return existed
  }

  /** Removes the artefact unless it was stored again in the meantime, perhaps by another process. */
  #removeUnchanged({ hex, version }: Entry): Promise<boolean> {
    return this.#exclusively(hex, async () => {
      const now = await this.#files.sidecar(hex)
      return (now === null || now.version === version) && this.#removeFiles(hex)
    })
  }

  /** The oldest go until the rest is within the bounds; `keep` was stored just now and stays. */
  async #evict(keep?: string): Promise<void> {
    const maxBytes = this.#limits.maxArtefactTotalBytes || Infinity
    const maxCount = this.#maxArtefacts || Infinity
    for (;;) {
      const { ordered, totalBytes } = this.#index
      const oldest = ordered.findLast(({ hex }) => hex !== keep)
      const isWithin = totalBytes <= maxBytes && ordered.length <= maxCount
      if (isWithin || oldest === undefined) return
      this.#log.info({ uri: oldest.ref.uri }, 'artefact removed: the store is full')
      // Stored again by another process, it comes back with the next look.
      if (!(await this.#removeUnchanged(oldest))) this.#index.remove([oldest.hex])
    }
  }

  async #exclusively<Value>(hex: string, change: () => Promise<Value>): Promise<Value> {
    const before = this.#changing.get(hex)
    const running = (async () => {
      await before?.catch(() => {})
      const value = await change()
      this.#changed.add(hex)
      return value
    })()
    this.#changing.set(hex, running)
    try {
      return await running
    } finally {
      if (this.#changing.get(hex) === running) this.#changing.delete(hex)
    }
  }

  #announce(): void {
    if (this.#announced === this.#index.changes) return
    this.#announced = this.#index.changes
    for (const listener of this.#listeners) listener()
  }

  /** One piece behind: the last one is handed out only after the hash was found right. */
  async *#verified(ref: ArtefactRef, body: Body): AsyncGenerator<Uint8Array> {
    const pieces = body.read(0, body.size)
    if (this.#undamaged.get(ref.digest) === body.state) return yield* pieces
    const hash = createHash('sha256')
    let held: Uint8Array | undefined
    for await (const piece of pieces) {
      hash.update(piece)
      if (held !== undefined) yield held
      held = piece
    }
    if (`sha256:${hash.digest('hex')}` !== ref.digest) throw this.#corrupt(ref)
    this.#undamaged.set(ref.digest, body.state)
    if (held !== undefined) yield held
  }

  #corrupt(ref: ArtefactRef): ServiceError {
    this.#log.error({ digest: ref.digest }, 'an artefact is damaged')
    const hint = 'store the artefact again'
    return new ServiceError('artefact_corrupt', `${ref.uri} is damaged`, { hint })
  }
}
