import { ServiceError } from '../../lib/errors.ts'
import type { SessionEventBuffer } from '../resources/session-event-buffer.ts'
import type { HostSink } from './host-sink.ts'

/** The buffers that the application created by posting events, a bounded number of them. */
export class EventBuffers {
  readonly #sink: Pick<HostSink, 'openSessionEventBuffer'>
  readonly #max: number
  readonly #bySession = new Map<string, SessionEventBuffer>()

  constructor(sink: Pick<HostSink, 'openSessionEventBuffer'>, max: number) {
    this.#sink = sink
    this.#max = max
  }

  /** The session's buffer, made at the first call. Throws `limit_reached` instead of one too many. */
  open(sessionId: string): SessionEventBuffer {
    const known = this.#bySession.get(sessionId)
    if (known !== undefined) return known
    if (this.#bySession.size >= this.#max) {
      throw new ServiceError('limit_reached', `the server keeps ${this.#max} sessions of events`, {
        hint: 'append to a session that exists, or restart the server',
      })
    }
    const buffer = this.#sink.openSessionEventBuffer(sessionId)
    this.#bySession.set(sessionId, buffer)
    return buffer
  }
}
