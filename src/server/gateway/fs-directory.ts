import type { GatewayLimits } from './limits.ts'
import { instanceStaleMs } from './verdict.ts'
import { lstat } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { type Clock, repeat, type Timer } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { bootId } from '../../lib/instances/process.ts'
import { DirectoryNews, DirectoryView, nothing } from './directory-view.ts'
import type {
  InstanceChange,
  InstanceDirectory,
  InstanceEntry,
  RecordFault,
} from './instance-directory.ts'
import { FolderWatch } from '../../lib/util/file-follower.ts'
import { isOwnFolder } from '../../lib/util/posix.ts'
import { isRecordName, listRecords } from './record-folder.ts'
import { TrackedRecord, type TrackingParts } from './tracked-record.ts'

/** Invalid records that are named one by one. */
const maxRecordFaults = 100

export interface FsDirectoryOptions {
  /** `<registry_dir>/instances`; it need not exist yet. */
  readonly instancesDir: string
  /** Processes of records with this host name are checked. */
  readonly hostname: string
  /** The time of day. */
  readonly clock: Clock
  /** Never goes back. */
  readonly ticks: Clock
  readonly timer: Timer
  readonly limits: GatewayLimits
  readonly log: Logger
}

/** Files looked at before other work of this process has its turn. */
const atOnce = 100
const folderSource = 'instances'

/** The instances that made themselves known by a file. Resolves when the first look is done. */
export async function openFsDirectory(options: FsDirectoryOptions): Promise<InstanceDirectory> {
  const directory = new FsDirectory(options, await bootId())
  await directory.refresh()
  return directory
}

class FsDirectory implements InstanceDirectory {
  readonly #options: FsDirectoryOptions
  readonly #parts: TrackingParts
  readonly #watch: FolderWatch
  readonly #view: DirectoryView
  readonly #news: DirectoryNews
  readonly #stops: (() => void)[]
  /** By the name of the file. */
  readonly #tracked = new Map<string, TrackedRecord>()
  /** Files whose change was announced; null: all of them. */
  #announced: Set<string> | null = new Set()
  #gathering = false
  #folderFault: RecordFault | null = null
  /** Changes found by the pass that is under way. */
  #changes: InstanceChange[] = []
  /** One pass at a time, so that each finds what the one before has left. */
  #queue: Promise<void> = Promise.resolve()
  #nextRefresh: Promise<void> | null = null
  #closed = false

  constructor(options: FsDirectoryOptions, boot: string | null) {
    const { instancesDir: folder, hostname, clock, ticks, timer, limits, log } = options
    const staleMs = instanceStaleMs
    this.#options = options
    const awake = createAwakeClock(ticks, staleMs / 3)
    this.#parts = { folder, hostname, boot, awake, clock, staleMs, limits }
    this.#watch = new FolderWatch(folder, name => this.#announce(name))
    this.#view = new DirectoryView(maxRecordFaults)
    this.#news = new DirectoryNews(log)
    this.#stops = [
      repeat(timer, limits.recordScanMs, () => this.#run(() => this.#scan())),
      repeat(timer, limits.processCheckMs, () => this.#run(() => this.#checkLives())),
    ]
  }

  get entries(): readonly InstanceEntry[] {
    return this.#view.entries
  }

  get faults(): readonly RecordFault[] {
    return this.#view.faults
  }

  onChange(listener: (changes: InstanceChange[]) => void): () => void {
    return this.#news.add(listener)
  }

  refresh(): Promise<void> {
    this.#nextRefresh ??= this.#run(async () => {
      this.#nextRefresh = null
      await this.#scan()
      await this.#checkLives()
    })
    return this.#nextRefresh
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const stop of this.#stops) stop()
    this.#watch.close()
    await this.#queue
  }

  #run(pass: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      if (this.#closed) return
      try {
        await pass()
        this.#forgetLongDead()
      } catch (error) {
        this.#options.log.error({ err: error }, 'instance records could not be looked at')
      }
      this.#tell()
    })
    return this.#queue
  }

  #announce(name: string | null): void {
    if (name !== null && !isRecordName(name)) return
    const isTooMuch = this.#announced?.size === this.#options.limits.maxRecords
    if (name === null || isTooMuch) this.#announced = null
    else this.#announced?.add(name)
    if (this.#gathering || this.#closed) return
    this.#gathering = true
    // Not put off by further ones: a folder in which something changes all the time is still seen.
    this.#options.timer.after(this.#options.limits.recordGatherMs, () => {
      void this.#run(() => this.#lookAtAnnounced())
    })
  }

  #lookAtAnnounced(): Promise<void> {
    const names = this.#announced
    this.#announced = new Set()
    this.#gathering = false
    return names === null ? this.#scan() : this.#lookAt(names)
  }

  async #scan(): Promise<void> {
    const { limits, instancesDir } = this.#options
    const found = await lstat(instancesDir).catch(() => null)
    const isUsable = found === null || isOwnFolder(found)
    this.#watch.follow(isUsable ? found : null)
    if (!isUsable) {
      for (const [name, tracked] of this.#tracked) this.#settle(name, tracked, false)
      this.#setFolderFault('the folder is not used: others can change it, or it is no folder')
      return
    }
    const listed = listRecords(instancesDir, limits.maxRecords)
    const names = listed.ok ? listed.value.names : []
    // A name that is missing may only have been moved while the listing was read.
    await this.#lookAt(new Set([...this.#tracked.keys(), ...names]))
    if (!listed.ok) this.#setFolderFault(listed.failure)
    else if (!listed.value.more) this.#setFolderFault(null)
    else this.#setFolderFault(`no more than ${limits.maxRecords} records are looked at`)
  }

  async #lookAt(names: Iterable<string>): Promise<void> {
    const { maxRecords } = this.#options.limits
    let count = 0
    for (const name of names) {
      if (++count % atOnce === 0) await setImmediate()
      if (this.#closed) return
      const known = this.#tracked.get(name)
      if (known === undefined && this.#tracked.size >= maxRecords) continue
      const tracked = known ?? new TrackedRecord(name, this.#parts)
      this.#settle(name, tracked, tracked.look())
    }
  }

  async #checkLives(): Promise<void> {
    let count = 0
    for (const [name, tracked] of this.#tracked) {
      if (++count % atOnce === 0) await setImmediate()
      if (this.#closed) return
      const found = tracked.checkLife()
      if (found !== null) this.#settle(name, tracked, found.isThere)
    }
  }

  #settle(name: string, tracked: TrackedRecord, isThere: boolean): void {
    if (isThere) {
      tracked.judge()
      this.#tracked.set(name, tracked)
    } else {
      this.#tracked.delete(name)
    }
    this.#changes.push(...this.#view.take(name, isThere ? tracked : nothing))
  }

  #setFolderFault(reason: string | null): void {
    const before = this.#folderFault
    if (before?.reason === reason) return
    this.#folderFault = reason === null ? null : Object.freeze({ source: folderSource, reason })
    const now = { entry: null, fault: this.#folderFault }
    this.#changes.push(...this.#view.take(folderSource, now))
  }

  #forgetLongDead(): void {
    const dead = []
    for (const [name, tracked] of this.#tracked) {
      const { entry, deadSinceMs } = tracked
      if (entry !== null && deadSinceMs !== null) dead.push({ name, tracked, deadSinceMs })
    }
    if (dead.length === 0) return
    const nowMs = this.#parts.awake.now()
    for (const { name, tracked } of findLongDead(dead, nowMs, this.#options.limits)) {
      tracked.forget()
      this.#changes.push(...this.#view.take(name, tracked))
    }
  }

  #tell(): void {
    const changes = this.#changes
    this.#changes = []
    this.#news.tell(changes)
  }
}

/**
 * Time during which this process was there to look. A longer pause between two questions, as when
 * it was stopped, or the machine slept, counts as `mostPauseMs`: what was silent meanwhile was not
 * silent on its own account. `clock` never goes back.
 */
function createAwakeClock(clock: Clock, mostPauseMs: number): Clock {
  let askedMs = clock.now()
  let awakeMs = 0
  return {
    now() {
      const nowMs = clock.now()
      awakeMs += Math.min(nowMs - askedMs, mostPauseMs)
      askedMs = nowMs
      return awakeMs
    },
  }
}

type DeadLimits = Pick<GatewayLimits, 'maxDeadInstances' | 'deadInstanceMs'>

/** Which of the dead are listed no more: those dead for too long, and the first ones of too many. */
function findLongDead<Dead extends { readonly deadSinceMs: number }>(
  dead: Dead[],
  nowMs: number,
  limits: DeadLimits,
): Dead[] {
  const newestFirst = dead.toSorted((a, b) => b.deadSinceMs - a.deadSinceMs)
  return newestFirst.filter(
    ({ deadSinceMs }, at) =>
      at >= limits.maxDeadInstances || nowMs - deadSinceMs > limits.deadInstanceMs,
  )
}
