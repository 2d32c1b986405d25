import type { GatewayLimits } from './limits.ts'
import { maxRecordBytes } from '../../lib/instances/record.ts'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { cleanText } from '../../lib/util/text.ts'
import { idOfRecord } from '../../lib/instances/files.ts'
import { isDead } from '../../lib/instances/instance.ts'
import { lookAtProcess, type ProcessNow } from '../../lib/instances/process.ts'
import type { DirectoryRecord, InstanceEntry, RecordFault } from './instance-directory.ts'
import { parseShownRecord } from './shown-record.ts'
import { type FileStamp, lookAtFile } from './record-folder.ts'
import { judgeLife, type Judgement, type ProcessState, instanceStaleMs } from './verdict.ts'
import type { Clock } from '../../lib/util/time.ts'

export interface TrackingParts extends HeartbeatParts {
  /** `<registry_dir>/instances` */
  readonly folder: string
  readonly hostname: string
  /** `bootId()` */
  readonly boot: string | null
  readonly limits: GatewayLimits
}

/** One file among the records: what it says, and what is known of the life of its instance. */
export class TrackedRecord {
  readonly #parts: TrackingParts
  readonly #path: string
  readonly #id: string | null
  /** The file's name, safe to show. */
  readonly #source: string
  #stamp: FileStamp | null = null
  #digest = ''
  #record: DirectoryRecord | null = null
  #fault: RecordFault | null = null
  #heartbeat: Heartbeat | null = null
  #process: ProcessState = 'elsewhere'
  #deadSinceMs: number | null = null
  #isForgotten = false
  #entry: InstanceEntry | null = null

  constructor(fileName: string, parts: TrackingParts) {
    this.#parts = parts
    this.#path = join(parts.folder, fileName)
    this.#id = idOfRecord(fileName)
    this.#source = cleanText(fileName, 100)
  }

  /** As of the last `judge`; null for a fault, and for what was forgotten. */
  get entry(): InstanceEntry | null {
    return this.#entry
  }

  get fault(): RecordFault | null {
    return this.#fault
  }

  /** When it was first found dead, by the watch of the directory. */
  get deadSinceMs(): number | null {
    return this.#deadSinceMs
  }

  /** Reads the file if it changed. Returns whether it is still there. */
  look(): boolean {
    const seen = lookAtFile(this.#path, this.#stamp, maxRecordBytes)
    if (seen.kind === 'missing') return false
    // After trouble it is read at the next look, changed or not.
    this.#stamp = seen.kind === 'trouble' ? null : seen.stamp
    if (this.#id === null) this.#refuse('its name is not an instance id with ".json"')
    else if (seen.kind === 'fault') this.#refuse(seen.reason)
    else if (seen.kind === 'trouble') this.#setFault(seen.reason)
    else if (seen.kind === 'read') this.#take(seen.bytes, this.#id)
    if (seen.stamp !== null) this.#follow(seen.stamp)
    return true
  }

  /**
   * Checks its process; when that is gone, or its heartbeat overdue, looks at the file before
   * anything is concluded from it: `isThere` as after `look`, null when nothing is new.
   */
  checkLife(): { readonly isThere: boolean } | null {
    const record = this.#record
    if (record === null) return null
    if (this.#process === 'running') {
      const state = this.#findProcess(record)
      if (state !== 'running') {
        const isThere = this.look()
        if (this.#record !== null && isSameOwner(this.#record, record)) this.#setProcess(state)
        return { isThere }
      }
    }
    const health = this.#entry?.verdict.health
    if (health === 'dead' || health === 'stale') return null
    const isOverdue = (this.#heartbeat?.ageMs ?? 0) > instanceStaleMs
    return isOverdue ? { isThere: this.look() } : null
  }

  /** Draws the conclusion: a new entry only if there is something new to say. */
  judge(): void {
    const record = this.#record
    const heartbeat = this.#heartbeat
    if (record === null || heartbeat === null) {
      this.#entry = null
      this.#deadSinceMs = null
      return
    }
    const judgement = judgeLife({
      pid: record.pid,
      process: this.#process,
      beatsSinceGone: heartbeat.beats,
      heartbeatAgeMs: heartbeat.ageAtLookMs,
      status: record.status,
    })
    if (judgement.health === 'dead') {
      this.#deadSinceMs ??= this.#parts.awake.now()
    } else {
      this.#deadSinceMs = null
      this.#isForgotten = false
    }
    if (this.#isForgotten) this.#entry = null
    else if (!saysTheSame(this.#entry, record, judgement)) {
      this.#entry = makeEntry(record, judgement, heartbeat)
    }
  }

  /** Dead for too long: no entry any more, unless it comes back to life. */
  forget(): void {
    this.#isForgotten = true
    this.#entry = null
  }

  #take(bytes: Buffer, id: string): void {
    // A heartbeat is a touch: most of what is read says what it said before.
    const digest = hash('sha256', bytes, 'base64')
    if (digest !== this.#digest) {
      const parsed = parseShownRecord(bytes, id)
      if (parsed.ok) this.#setRecord(parsed.value)
      else this.#refuse(parsed.failure)
      this.#digest = digest
    }
    if (this.#record !== null) this.#fault = null
  }

  #setRecord(record: DirectoryRecord): void {
    const before = this.#record
    this.#record = record
    if (before === null || !isSameOwner(before, record)) {
      this.#setProcess(this.#findProcess(record))
    }
  }

  #refuse(reason: string): void {
    this.#record = null
    this.#heartbeat = null
    this.#digest = ''
    this.#isForgotten = false
    this.#setFault(reason)
  }

  #setFault(reason: string): void {
    if (this.#fault?.reason === reason) return
    this.#fault = Object.freeze({ source: this.#source, reason })
  }

  #follow({ modifiedMs }: FileStamp): void {
    if (this.#record === null) return
    if (this.#heartbeat === null) this.#heartbeat = new Heartbeat(modifiedMs, this.#parts)
    else this.#heartbeat.look(modifiedMs)
  }

  #findProcess(record: DirectoryRecord): ProcessState {
    if (record.hostname !== this.#parts.hostname) return 'elsewhere'
    const now: ProcessNow = lookAtProcess(record.pid, this.#parts.boot)
    if (!now.running) return 'gone'
    return isDead(record.pidStart, true, now.start) ? 'replaced' : 'running'
  }

  /** Heartbeats from here on speak for a process that was found gone. */
  #setProcess(state: ProcessState): void {
    this.#process = state
    this.#heartbeat?.countAnew()
  }
}

function isSameOwner(a: DirectoryRecord, b: DirectoryRecord): boolean {
  return a.pid === b.pid && a.pidStart === b.pidStart && a.hostname === b.hostname
}

function saysTheSame(
  entry: InstanceEntry | null,
  record: DirectoryRecord,
  { health, reason }: Judgement,
): boolean {
  if (entry === null || entry.record !== record) return false
  return entry.verdict.health === health && entry.verdict.reason === reason
}

function makeEntry(
  record: DirectoryRecord,
  judgement: Judgement,
  heartbeat: Heartbeat,
): InstanceEntry {
  const verdict = {
    ...judgement,
    get heartbeatAgeMs() {
      return heartbeat.ageMs
    },
    get heartbeatMs() {
      return heartbeat.modifiedMs
    },
  }
  return Object.freeze({ record, verdict: Object.freeze(verdict) })
}

interface HeartbeatParts {
  /** Time in which this process was able to see a heartbeat. */
  readonly awake: Clock
  /** The time of day: asked once, at first sight. */
  readonly clock: Clock
  readonly staleMs: number
}

/**
 * Follows the modification time of one record. It is compared only with earlier times of the same
 * file, so a wrong or changed clock alters no verdict. Only at first sight the time of day decides
 * whether the record is old.
 */
class Heartbeat {
  /** Changes since `countAnew`. */
  beats = 0
  readonly #awake: Clock
  #modifiedMs: number
  #signMs: number | null
  #lookedMs: number

  constructor(modifiedMs: number, { awake, clock, staleMs }: HeartbeatParts) {
    const ageMs = Math.max(0, clock.now() - modifiedMs)
    this.#awake = awake
    this.#modifiedMs = modifiedMs
    this.#lookedMs = awake.now()
    this.#signMs = ageMs > staleMs ? null : this.#lookedMs - ageMs
  }

  look(modifiedMs: number): void {
    this.#lookedMs = this.#awake.now()
    if (modifiedMs === this.#modifiedMs) return
    this.#modifiedMs = modifiedMs
    this.#signMs = this.#lookedMs
    this.beats++
  }

  countAnew(): void {
    this.beats = 0
  }

  get modifiedMs(): number {
    return this.#modifiedMs
  }

  /** Null: no sign of life yet. */
  get ageMs(): number | null {
    return this.#signMs === null ? null : this.#awake.now() - this.#signMs
  }

  /** At the last look: what came since may only not have been seen yet. */
  get ageAtLookMs(): number | null {
    return this.#signMs === null ? null : this.#lookedMs - this.#signMs
  }
}
