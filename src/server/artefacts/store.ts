import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { defaultLimits, type Limits } from '../../lib/config/limits.ts'
import { invalidMember } from '../../lib/host-link/check.ts'
import { isArtefactHex } from '../../lib/mcp/artefact-uri.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import { type Clock, systemClock } from '../../lib/util/time.ts'
import { type ArtefactPage, type ArtefactEntry, EntryIndex } from './entry-index.ts'
import {
  type ArtefactFiles,
  type Body,
  type Spooled,
  type StoredSidecar,
  withStorageErrors,
} from './files.ts'
import {
  type ArtefactFields,
  type ArtefactOrigin,
  type ArtefactRef,
  describePut,
  expiryMs,
  parseSidecar,
} from './sidecar.ts'
import { type BodySource, spool } from './spool.ts'

export type { ArtefactFields, ArtefactPage, ArtefactRef }

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
  /** Hash → version of sidecars that are still to be read. */
  readonly #unread = new Map<string, string>()
  /** Hash → version of sidecars that are not shown: they cannot be used, or have expired. */
  readonly #hidden = new Map<string, string>()
  /** Digest → state of a body that was found right. */
  readonly #undamaged = new LRUCache<string, string>({ max: 10_000 })
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
  async put(source: BodySource, fields: ArtefactFields = {}): Promise<PutResult> {
    const { expires_at } = fields
    if (expires_at !== undefined && Date.parse(expires_at) <= this.#clock.now()) {
      throw invalidMember('/expires_at', 'must be a time in the future')
    }
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

  /**
   * Null when nothing (unexpired) is stored under the hash. What another process put is found at
   * once; what it changed or removed is noticed by the next refresh.
   */
  async find(hex: string): Promise<ArtefactRef | null> {
    if (!isArtefactHex(hex)) return null
    await this.start()
    const known = this.#index.get(hex)
    if (known !== undefined && !this.#hasExpired(known)) return known.ref
    return withStorageErrors('cannot read the artefact', async () => {
      const sidecar = await this.#files.sidecar(hex)
      const entry = sidecar && this.#entryOf(hex, sidecar)
      if (entry === null || this.#hasExpired(entry)) return null
      this.#index.put([entry])
      this.#announce()
      return entry.ref
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
    await this.#look()
    return this.#index.page(after, limit)
  }

  /** False when nothing was stored under the hash. */
  async remove(hex: string): Promise<boolean> {
    if (!isArtefactHex(hex)) return false
    await this.start()
    const isRemoved = await withStorageErrors('cannot remove the artefact', () =>
      this.#exclusively(hex, async () => {
        const sidecar = await this.#files.sidecar(hex)
        // One that cannot be used is removed, too.
        const entry = sidecar && this.#entryOf(hex, sidecar)
        if (sidecar === null || (entry && this.#hasExpired(entry))) return false
        await this.#files.remove(hex, sidecar.version)
        this.#index.remove([hex])
        return true
      }),
    )
    this.#announce()
    return isRemoved
  }

  /** Called after artefacts were added or removed, by this process or another. */
  onChange(listener: () => void): void {
    this.#timer ??= setInterval(() => void this.#refreshInBackground(), this.#files.refreshMs)
    this.#timer.unref()
    this.#listeners.add(listener)
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
    if (hasExpired || ageMs >= this.#files.refreshMs || this.#files.hasChanges()) {
      await withStorageErrors('cannot list the artefacts', () => this.refresh())
    }
  }

  async #readChanges(): Promise<void> {
    const beganMs = performance.now()
    this.#changed.clear()
    const shards = await this.#files.changedShards()
    for (const [name, versions] of shards) {
      const gone = [...this.#index.shard(name).keys()].filter(hex => !versions.has(hex))
      this.#index.remove(gone.filter(hex => !this.#changed.has(hex)))
      for (const [hex, version] of versions) {
        const known = this.#index.get(hex)?.version ?? this.#hidden.get(hex)
        if (known !== version) this.#unread.set(hex, version)
      }
    }
    for (const hex of this.#hidden.keys())
      if (shards.get(hex.slice(0, 2))?.has(hex) === false) this.#hidden.delete(hex)
    const found: ArtefactEntry[] = []
    const wanted = [...this.#unread]
    for (let at = 0; at < wanted.length; at += readsAtOnce) {
      const batch = wanted.slice(at, at + readsAtOnce)
      found.push(...(await Promise.all(batch.map(each => this.#read(...each)))).flat())
      await nextTurn()
    }
    this.#index.put(found.filter(({ hex }) => !this.#changed.has(hex)))
    this.#refreshedMs = beganMs
    if (this.#index.earliestExpiryMs <= this.#clock.now()) {
      const expired = this.#index.ordered.filter(entry => this.#hasExpired(entry))
      if (this.#files.expiresByItself) this.#hide(expired)
      else for (const entry of expired) await this.#removeUnchanged(entry)
    }
    await this.#evict()
    this.#announce()
  }

  /** Empty when there is no sidecar, or none that can be used, which hides this artefact alone. */
  async #read(hex: string, version: string): Promise<ArtefactEntry[]> {
    let failure: unknown
    try {
      const sidecar = await this.#files.sidecar(hex)
      this.#unread.delete(hex)
      const entry = sidecar && this.#entryOf(hex, sidecar)
      if (sidecar === null || entry !== null) return entry ? [entry] : []
    } catch (error) {
      // Nothing can be read then. Any other error may be of this sidecar, which is read again later.
      if (error instanceof ServiceError && error.code === 'storage_unavailable') throw error
      failure = error
    }
    if (this.#hidden.get(hex) !== version) {
      this.#log.warn({ hex, err: failure }, 'an artefact whose sidecar cannot be used is hidden')
    }
    this.#hide([{ hex, version }])
    return []
  }

  #hide(entries: Pick<ArtefactEntry, 'hex' | 'version'>[]): void {
    for (const { hex, version } of entries) this.#hidden.set(hex, version)
    this.#index.remove(entries.map(({ hex }) => hex))
  }

  /** Null when the sidecar is invalid. */
  #entryOf(hex: string, { text, version }: StoredSidecar): ArtefactEntry | null {
    const ref = parseSidecar(text, hex)
    return ref && this.#entry(hex, ref, version)
  }

  #entry(hex: string, ref: ArtefactRef, version: string): ArtefactEntry {
    const expiresMs = expiryMs(ref, this.#limits.artefactTtlMs)
    return { hex, createdMs: Date.parse(ref.created_at), expiresMs, ref, version }
  }

  #hasExpired({ expiresMs }: ArtefactEntry): boolean {
    return expiresMs <= this.#clock.now()
  }

  async #save(body: Spooled, fields: ArtefactFields): Promise<PutResult> {
    const { hex, size } = body
    const nowMs = this.#clock.now()
    let put: PutResult | undefined
    const version = await this.#files.save(body, text => {
      const there = text === null ? null : parseSidecar(text, hex)
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

  /** Unless it was stored again meanwhile: then it comes back with the next refresh. */
  async #removeUnchanged({ hex, version }: ArtefactEntry): Promise<void> {
    await this.#exclusively(hex, async () => {
      await this.#files.remove(hex, version)
      this.#index.remove([hex])
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
      await this.#removeUnchanged(oldest)
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
