import { hostname } from 'node:os'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { instanceStaleMs, healthOf } from '../../lib/instances/process.ts'
import {
  listRecords,
  readRecordFile,
  reapInstances,
  type RecordFile,
} from '../../lib/instances/record-files.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { cleanText } from '../../lib/util/text.ts'
import { repeat, systemTimer } from '../../lib/util/time.ts'
import {
  type DirectoryRecord,
  type Finding,
  InstanceDirectory,
  type InstanceEntry,
  type RecordFault,
} from './instance-directory.ts'
import { askReady, probeUrl } from './probes.ts'

interface LocalDirectoryOptions {
  /** `<registry_dir>/instances`; it need not exist yet. */
  readonly instancesDir: string
  readonly log: Logger
  /**
   * For a gateway: asks live instances of this machine whether they are ready, and removes what dead
   * ones left. Default false.
   */
  readonly isGateway?: boolean
  /** Between two rounds of probes. */
  readonly probeMs?: number
  /** Between two removals of what is dead. */
  readonly reapMs?: number
}

/** Records and processes are looked at this often. */
const directoryPollMs = 500

/** Live instances are asked this often whether they are ready. */
const probeEveryMs = 5000

/** What dead instances left is looked for this often. */
export const reapEveryMs = 60_000

/** An instance is unhealthy after this many failed probes in a row. */
const maxProbeFailures = 2

/** Instances that are asked at once. */
const maxProbes = 32

/**
 * The instances that made themselves known by a file. Those that joined a gateway are updated by
 * their links.
 */
export class LocalDirectory extends InstanceDirectory {
  readonly #options: LocalDirectoryOptions
  /** By the name of the file. */
  readonly #tracked = new Map<string, TrackedRecord>()
  readonly #stops: (() => void)[]
  readonly #closed = new AbortController()
  #polling: Promise<void> = Promise.resolve()

  /** Resolves when the first look is done. */
  static async open(options: LocalDirectoryOptions): Promise<LocalDirectory> {
    const directory = new LocalDirectory(options)
    await directory.refresh()
    return directory
  }

  private constructor(options: LocalDirectoryOptions) {
    super()
    const { instancesDir, log, isGateway, probeMs = probeEveryMs, reapMs = reapEveryMs } = options
    this.#options = options
    this.#stops = [repeat(systemTimer, directoryPollMs, () => this.refresh())]
    if (isGateway !== true) return
    this.#stops.push(
      repeat(systemTimer, probeMs, () => this.#probeAll()),
      repeat(systemTimer, reapMs, () => reapInstances(instancesDir, log)),
    )
  }

  /** Resolves when everything that was true at the call has been seen, and told. */
  refresh(): Promise<void> {
    this.#polling = this.#polling
      .then(() => this.#poll())
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'instance records could not be looked at')
      })
    return this.#polling
  }

  /** Resolves when nothing will be looked at or told any more. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    this.#closed.abort()
    await this.#polling
  }

  async #poll(): Promise<void> {
    const { instancesDir } = this.#options
    let fault: RecordFault | undefined
    const listed = await listRecords(instancesDir).catch((error: unknown) => {
      if (!(error instanceof ServiceError) || error.code !== 'registry_dir_unsafe') throw error
      fault = { source: 'instances', reason: 'the folder is not used: others can change it' }
      return []
    })
    if (this.#closed.signal.aborted) return
    const findings = new Map<string, Finding>([['instances', { fault }]])
    // A name that is missing may only have been moved while the listing was read.
    for (const name of new Set([...this.#tracked.keys(), ...listed])) {
      const known = this.#tracked.get(name)
      const file = fault ? null : readRecordFile(join(instancesDir, name), known?.file)
      const tracked = known ?? new TrackedRecord()
      if (file === null) this.#tracked.delete(name)
      else this.#tracked.set(name, tracked)
      findings.set(name, file === null ? {} : tracked.judge(name, file))
    }
    this.update(findings)
  }

  async #probeAll(): Promise<void> {
    const limit = pLimit(maxProbes)
    const all = [...this.#tracked]
    await Promise.all(all.map(([name, tracked]) => limit(() => this.#probe(name, tracked))))
  }

  async #probe(name: string, tracked: TrackedRecord): Promise<void> {
    const { signal } = this.#closed
    const entry = this.entryOf(name)
    if (signal.aborted || entry === undefined) return
    const { record, verdict } = entry
    const url = probeUrl(record)
    // One that is dead or stale cannot be expected to answer.
    if (!url.ok || verdict.health === 'dead' || verdict.health === 'stale') return
    tracked.probed(await askReady(url.value, signal))
    // It may have gone meanwhile.
    if (signal.aborted || this.#tracked.get(name) !== tracked || tracked.file === undefined) return
    this.update([[name, tracked.judge(name, tracked.file)]])
  }
}

/** One file among the records, and what is known of the life of its instance. */
class TrackedRecord {
  file: RecordFile | undefined
  #entry: (InstanceEntry & { verdict: { heartbeatMs: number } }) | undefined
  #failedProbes = 0
  #failure: string | null = null

  /** Returns the same entry as before unless there is something new to say. */
  judge(name: string, file: RecordFile): Finding {
    this.file = file
    if (!file.record.ok) {
      this.#entry = undefined
      return { fault: { source: cleanText(name, 100), reason: file.record.failure } }
    }
    const before = this.#entry
    const record = file.record.value
    const heartbeatMs = file.modifiedMs
    const life = healthOf(record, heartbeatMs)
    // What failed before the instance fell silent says nothing about it when it is back.
    if (life !== 'live') this.#failedProbes = 0
    const isUnhealthy = this.#failedProbes >= maxProbeFailures
    const reason = isUnhealthy ? `it is not ready: ${this.#failure}` : reasonOf(life, record)
    if (before?.record === record && before.verdict.reason === reason) {
      before.verdict.heartbeatMs = heartbeatMs
    } else {
      const health = isUnhealthy ? 'unhealthy' : life
      this.#entry = { record, verdict: { health, reason, heartbeatMs } }
    }
    return { entry: this.#entry }
  }

  /** `failure`: why it is not ready. */
  probed(failure: string | null): void {
    this.#failedProbes = failure === null ? 0 : this.#failedProbes + 1
    this.#failure = failure
  }
}

function reasonOf(life: ReturnType<typeof healthOf>, { hostname: machine, pid }: DirectoryRecord) {
  if (life === 'dead') return `its process ${pid} has ended`
  const place = machine === hostname() ? `its process ${pid} runs` : 'it runs on another machine'
  return life === 'live'
    ? `its heartbeat is fresh; ${place}`
    : `no heartbeat for more than ${instanceStaleMs / 1000} s; ${place}`
}
