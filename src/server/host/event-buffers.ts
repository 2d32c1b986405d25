import { ServiceError } from '../../lib/util/errors.ts'
import type { SessionEventBuffer } from '../resources/session-event-buffer.ts'
import type { Timer } from '../../lib/util/time.ts'
import type { BufferForm, HostSink } from './host-endpoint.ts'

type BufferSink = Pick<HostSink, 'openSessionEventBuffer' | 'closeSessionEventBuffer'>

interface EventBufferRules {
  /** Buffers at once. */
  readonly max: number
  /** How long a buffer stays after its application is gone. */
  readonly graceMs: number
  readonly timer: Timer
}

/**
 * The buffers that the application created, a bounded number of them. One that it ended stays
 * readable until its place is needed, or until its application has been gone for `graceMs`.
 */
export class EventBuffers {
  readonly #sink: BufferSink
  readonly #rules: EventBufferRules
  readonly #bySession = new Map<string, SessionEventBuffer>()
  /** Ended ones, the one ended longest first. */
  readonly #ended = new Set<string>()
  /** Cancels the removal of a buffer whose application is gone. */
  readonly #removals = new Map<string, () => void>()

  constructor(sink: BufferSink, rules: EventBufferRules) {
    this.#sink = sink
    this.#rules = rules
  }

  /**
   * The session's buffer, made at the first call, whose form counts then. Throws `limit_reached`
   * instead of one too many.
   */
  open(sessionId: string, form: BufferForm = {}): SessionEventBuffer {
    this.#ended.delete(sessionId)
    this.#cancelRemoval(sessionId)
    const known = this.#bySession.get(sessionId)
    if (known !== undefined) return known
    this.#makeSpace()
    const buffer = this.#sink.openSessionEventBuffer(sessionId, form)
    this.#bySession.set(sessionId, buffer)
    return buffer
  }

  /** Marks the buffer as complete. Returns false when there is no such buffer. */
  end(sessionId: string): boolean {
    if (!this.#bySession.has(sessionId)) return false
    this.#ended.delete(sessionId)
    this.#ended.add(sessionId)
    return true
  }

  /** Its application is gone: it is removed after `graceMs`, unless it is opened again. */
  abandon(sessionId: string): void {
    if (!this.#bySession.has(sessionId)) return
    this.#ended.add(sessionId)
    this.#cancelRemoval(sessionId)
    const { timer, graceMs } = this.#rules
    const cancel = timer.after(graceMs, () => this.remove(sessionId))
    this.#removals.set(sessionId, cancel)
  }

  /** Listed and read no more. */
  remove(sessionId: string): void {
    this.#ended.delete(sessionId)
    this.#cancelRemoval(sessionId)
    const buffer = this.#bySession.get(sessionId)
    if (buffer === undefined) return
    this.#bySession.delete(sessionId)
    this.#sink.closeSessionEventBuffer(buffer)
  }

  #cancelRemoval(sessionId: string): void {
    this.#removals.get(sessionId)?.()
    this.#removals.delete(sessionId)
  }

  #makeSpace(): void {
    const { max } = this.#rules
    if (this.#bySession.size < max) return
    const [oldest] = this.#ended
    if (oldest !== undefined) return this.remove(oldest)
    throw new ServiceError('limit_reached', `the server keeps ${max} sessions of events`, {
      hint: 'append to a session that exists, or restart the server',
    })
  }
}
