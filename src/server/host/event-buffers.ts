import { ServiceError } from '../../lib/errors.ts'
import type { SessionEventBuffer } from '../resources/session-event-buffer.ts'
import type { BufferForm, HostSink } from './host-sink.ts'

type BufferSink = Pick<HostSink, 'openSessionEventBuffer' | 'closeSessionEventBuffer'>

/**
 * The buffers that the application created, a bounded number of them. One that it ended stays
 * readable until its place is needed.
 */
export class EventBuffers {
  readonly #sink: BufferSink
  readonly #max: number
  readonly #bySession = new Map<string, SessionEventBuffer>()
  /** Ended ones, the one ended longest first. */
  readonly #ended = new Set<string>()

  constructor(sink: BufferSink, max: number) {
    this.#sink = sink
    this.#max = max
  }

  /**
   * The session's buffer, made at the first call, whose form counts then. Throws `limit_reached`
   * instead of one too many.
   */
  open(sessionId: string, form: BufferForm = {}): SessionEventBuffer {
    this.#ended.delete(sessionId)
    const known = this.#bySession.get(sessionId)
    if (known !== undefined) return known
    this.#makeRoom()
    const buffer = this.#sink.openSessionEventBuffer(sessionId, form)
    this.#bySession.set(sessionId, buffer)
    return buffer
  }

  /** Nothing more comes for it. False when there is no such buffer. */
  end(sessionId: string): boolean {
    if (!this.#bySession.has(sessionId)) return false
    this.#ended.delete(sessionId)
    this.#ended.add(sessionId)
    return true
  }

  #makeRoom(): void {
    if (this.#bySession.size < this.#max) return
    const [oldest] = this.#ended
    const buffer = oldest === undefined ? undefined : this.#bySession.get(oldest)
    if (oldest === undefined || buffer === undefined) {
      throw new ServiceError('limit_reached', `the server keeps ${this.#max} sessions of events`, {
        hint: 'append to a session that exists, or restart the server',
      })
    }
    this.#ended.delete(oldest)
    this.#bySession.delete(oldest)
    this.#sink.closeSessionEventBuffer(buffer)
  }
}
