import { defaultArtefactLimits, type ArtefactLimits } from './limits.ts'
import { join, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, systemClock } from '../../lib/util/time.ts'
import { type Logger, silentLogger } from '../../lib/util/logger.ts'
import { completeRef, type Entry } from './entry.ts'
import { describePut, noOrigin } from './describe.ts'
import { EntryIndex } from './entry-index.ts'
import { createChangeMark, ownMark } from './marks.ts'
import { createEntryLocks, telling } from './entry-lock.ts'
import { evict, quarantine, removeArtefact, removeExpired, removeLeftovers } from './fs-remove.ts'
import { createLayout, type FsContext, isLayoutComplete, restoreLayout } from './fs-context.ts'
import { guard, toStorageError } from './fs-errors.ts'
import { openBody, openChecked } from './fs-open.ts'
import { compileFilter, readPage } from './fs-page.ts'
import { putArtefact } from './fs-put.ts'
import { PageMemory, parseCursor } from './listing.ts'
import { createOpenToSend } from './open-to-send.ts'
import { parsePutOptions } from './put-options.ts'
import { ShardTable } from './shard-table.ts'
import type { ArtefactOrigin, ArtefactStore, OpenArtefact } from './store.ts'
import { ChangeListeners, createUpkeep, every, ExpiryTimer } from './upkeep.ts'
import { isArtefactHex } from '../../lib/mcp/uris.ts'

export interface FsStoreOptions {
  /** Folder of the store; created when absent, refused when it is not ours alone. */
  root: string
  limits?: ArtefactLimits
  clock?: Clock
  log?: Logger
  /** Asked at each put. Default: none. */
  origin?: () => ArtefactOrigin
}

export interface FsStore extends ArtefactStore {
  /** What the timer does: removes expired artefacts, those beyond the bounds, and leftovers. */
  sweep(): Promise<void>
  /** What the poll does: takes over what other processes changed, and tells the listeners. */
  refresh(): Promise<void>
}

/** A put looks at the whole store, for its bounds, at most this often. */
const fullLookMs = 1000
/** A scan lets other tasks run after this. */
const sliceMs = 8

/** Artefacts as files under `root` (docs/artefacts.md). Ready when the folder has been read. */
export async function createFsStore(options: FsStoreOptions): Promise<FsStore> {
  const { limits = defaultArtefactLimits, clock = systemClock, log = silentLogger } = options
  const { origin = () => noOrigin } = options
  const root = resolve(options.root)
  const layout = await createLayout(root).catch(error => {
    throw toStorageError(error, `cannot open the artefact folder ${root}`)
  })
  const index = new EntryIndex()
  const shards = new ShardTable({ dir: layout.bodies, index, limits, log })
  const mark = ownMark()
  let lookedMark = ''
  const changes = createChangeMark(join(layout.root, 'changes'))
  const locks = telling(createEntryLocks({ dir: layout.locks, mark }), () => {
    // What this process changed is in its index already: only others' changes need a look.
    lookedMark = changes.bump(lookedMark) ?? lookedMark
  })
  const store: FsContext = { layout, limits, clock, log, locks, index, shards, mark, origin }
  const pages = new PageMemory()
  const listeners = new ChangeListeners(log)
  const inBackground = createUpkeep(log)
  /** Entries of disputed size whose body was hashed and is undamaged. */
  const sizeChecked = new WeakSet<Entry>()
  let announced = 0
  let pending: Promise<void> | undefined
  let lookedAt = -Infinity
  let turnMark: string | null = null
  let sweeping: Promise<void> | undefined
  let pollTimer: NodeJS.Timeout | undefined
  // Expired artefacts leave the list at once, not in the slow rhythm of the sweep.
  const expiry = new ExpiryTimer(clock, () => inBackground(sweep))

  function announce(): void {
    if (limits.artefactSweepMs > 0) expiry.set(index.earliestExpiryMs)
    if (announced === index.version) return
    announced = index.version
    listeners.notify()
  }

  /** One look serves all callers of the same turn of the event loop; none gets an older one. */
  function refresh(): Promise<void> {
    pending ??= (async () => {
      await nextTurn()
      pending = undefined
      await scan()
      announce()
    })()
    return pending
  }

  async function scan(into?: Entry[]): Promise<void> {
    await restoreLayout(layout, log)
    const mark = changes.read()
    lookedAt = performance.now()
    for (let at = 0, since = lookedAt; at < shards.count; at++) {
      shards.refresh(at, into)
      if (performance.now() - since < sliceMs) continue
      await nextTurn()
      since = performance.now()
    }
    // Only now: a caller that asks while the folders are being read must wait for the result.
    lookedMark = mark
  }

  async function start(): Promise<void> {
    const found: Entry[] = []
    await scan(found)
    index.put(found)
    await sweep()
  }

  /** A full look only when a process changed something, or when the poll would take one. */
  async function look(): Promise<void> {
    if (!isUnchanged(changes.read())) await refresh()
  }

  /**
   * The change mark, read once per turn of the event loop: the requests of one turn had all arrived
   * before it was read, so none of them can know of a later change.
   */
  function markOfTurn(): string {
    if (turnMark === null) {
      turnMark = changes.read()
      setImmediate(() => {
        turnMark = null
      })
    }
    return turnMark
  }

  function isUnchanged(mark: string): boolean {
    // Half as long again, so that a poll that is a little late causes no other look.
    const patienceMs = 1.5 * limits.artefactPollMs
    const isRecent = patienceMs === 0 || performance.now() - lookedAt < patienceMs
    return isRecent && mark === lookedMark
  }

  async function clean(): Promise<void> {
    await refresh()
    await removeExpired(store)
    await evict(store)
    await removeLeftovers(store)
    index.findEarliestExpiry()
    announce()
  }

  function sweep(): Promise<void> {
    sweeping ??= guard('cannot clean up the artefact folder', clean).finally(() => {
      sweeping = undefined
    })
    return sweeping
  }

  async function makeSpace(hex: string): Promise<void> {
    try {
      if (performance.now() - lookedAt > fullLookMs) await refresh()
      await evict(store, hex)
    } catch (error) {
      // The artefact itself is stored; the next sweep tries again.
      log.error({ err: error }, 'cannot make room in the artefact folder')
    }
  }

  /** The entry as it is on disk now, unless expired. */
  function current(hex: string) {
    if (!isArtefactHex(hex)) return undefined
    shards.refreshOf(hex)
    announce()
    const entry = index.get(hex)
    return entry === undefined || entry.expiresMs <= clock.now() ? undefined : entry
  }

  async function open(hex: string): Promise<OpenArtefact | null> {
    const entry = current(hex)
    if (entry === undefined) return null
    const dir = shards.dirOf(hex)
    const ref = completeRef(dir, entry)
    const body = ref === null ? null : await openBody(`${dir}/${hex}`)
    if (ref === null || body === null) return null
    const isDisputed = entry.sizeDisputed && !sizeChecked.has(entry)
    const artefact = await openChecked(body, ref, isDisputed, inode =>
      quarantine(store, hex, inode).then(announce),
    )
    if (isDisputed) sizeChecked.add(entry)
    return artefact
  }

  const guardedOpen = (hex: string) => guard('cannot open the artefact', () => open(hex))
  await guard(`cannot read the artefact folder ${root}`, start)
  const sweepTimer = every(limits.artefactSweepMs, () => inBackground(sweep))

  return {
    sweep,
    refresh: () => guard('cannot read the artefact folder', refresh),

    put: (source, putOptions = {}) =>
      guard('cannot store the artefact', async () => {
        const describe = describePut(store, parsePutOptions(putOptions, clock.now(), limits))
        if (!isLayoutComplete(layout)) await refresh()
        const result = await putArtefact(store, source, describe)
        await makeSpace(result.ref.digest.slice('sha256:'.length))
        announce()
        return result
      }),

    find: hex =>
      guard('cannot read the artefact folder', async () => {
        const entry = current(hex)
        return entry === undefined ? null : completeRef(shards.dirOf(hex), entry)
      }),

    open: guardedOpen,
    openToSend: createOpenToSend(guardedOpen),

    page: (after, limit, filter = {}) =>
      guard('cannot list the artefact folder', async () => {
        const position = after === undefined ? null : parseCursor(after)
        const isWhole = Object.keys(filter).length === 0
        if (!isWhole || !isUnchanged(markOfTurn())) await look()
        const known = isWhole ? pages.get(after, limit, index.version, clock.now()) : null
        if (known !== null) return known
        const wanted = Math.max(1, Math.floor(limit))
        const matches = compileFilter(filter)
        const { page, validUntilMs } = readPage(store, position, wanted, matches)
        if (isWhole) pages.set(after, limit, index.version, page, validUntilMs)
        return page
      }),

    startingWith: (prefix, limit) =>
      guard('cannot list the artefact folder', async () => {
        await look()
        const now = clock.now()
        const found: string[] = []
        for (const { hex, expiresMs } of index.startingWith(prefix)) {
          if (found.length >= limit) break
          if (expiresMs > now) found.push(hex)
        }
        return found
      }),

    remove: hex =>
      guard('cannot remove the artefact', async () => {
        if (!isArtefactHex(hex)) return false
        const removed = await removeArtefact(store, hex)
        announce()
        return removed
      }),

    onChange(listener) {
      const remove = listeners.add(listener)
      pollTimer ??= every(limits.artefactPollMs, () => inBackground(refresh))
      return () => {
        remove()
        if (!listeners.isEmpty) return
        clearInterval(pollTimer)
        pollTimer = undefined
      }
    },

    onRemove: listener => index.onRemove(listener),

    async close() {
      expiry.close()
      for (const timer of [sweepTimer, pollTimer]) clearInterval(timer)
      pollTimer = undefined
      listeners.clear()
      await sweeping
    },
  }
}
