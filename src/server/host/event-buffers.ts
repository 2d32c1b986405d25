import { ServiceError } from '../../lib/util/errors.ts'
import type { ResourceRegistry } from '../resources/registry.ts'
import { SessionEventBuffer } from '../resources/session-event-buffer.ts'

type BufferRegistry = Pick<
  ResourceRegistry,
  'registerSessionEventBuffer' | 'removeSessionEventBuffer'
>

interface EventBufferRules {
  /** Buffers at once. */
  readonly max: number
  /** How long a buffer stays after its application is gone. */
  readonly graceMs: number
}

/**
 * The buffers that the application created, a bounded number of them. One that it ended stays
 * readable until its place is needed, or until its application has been gone for `graceMs`.
 */
export class EventBuffers {
  readonly #registry: BufferRegistry
  readonly #rules: EventBufferRules
  readonly #bySession = new Map<string, SessionEventBuffer>()
  /** Ended ones, the one ended longest first, with the removal of one whose application is gone. */
  readonly #ended = new Map<string, NodeJS.Timeout | undefined>()

  constructor(registry: BufferRegistry, rules: EventBufferRules) {
    this.#registry = registry
    this.#rules = rules
  }

  /**
   * The session's buffer, made at the first call, whose bounds count then. Throws `limit_reached`
   * instead of one too many.
   */
  open(sessionId: string, maxlen = 1000, maxMessageBytes = 4096): SessionEventBuffer {
    this.#unend(sessionId)
    const known = this.#bySession.get(sessionId)
    if (known !== undefined) return known
    this.#makeSpace()
    const buffer = new SessionEventBuffer({ sessionId, maxlen, maxMessageBytes })
    this.#registry.registerSessionEventBuffer(buffer)
    this.#bySession.set(sessionId, buffer)
    return buffer
  }

  /** Marks the buffer as complete. Returns false when there is no such buffer. */
  end(sessionId: string): boolean {
    if (!this.#bySession.has(sessionId)) return false
    this.#unend(sessionId)
    this.#ended.set(sessionId, undefined)
    return true
  }

  /** Its application is gone: it is removed after `graceMs`, unless it is opened again. */
  abandon(sessionId: string): void {
    if (!this.#bySession.has(sessionId)) return
    const remove = () => this.remove(sessionId)
    clearTimeout(this.#ended.get(sessionId))
    this.#ended.set(sessionId, setTimeout(remove, this.#rules.graceMs).unref())
  }

  /** Listed and read no more. */
  remove(sessionId: string): void {
    this.#unend(sessionId)
    const buffer = this.#bySession.get(sessionId)
    if (buffer === undefined) return
    this.#bySession.delete(sessionId)
    this.#registry.removeSessionEventBuffer(buffer)
  }

  #unend(sessionId: string): void {
    clearTimeout(this.#ended.get(sessionId))
    this.#ended.delete(sessionId)
  }

  #makeSpace(): void {
    const { max } = this.#rules
    if (this.#bySession.size < max) return
    const [oldest] = this.#ended.keys()
    if (oldest !== undefined) return this.remove(oldest)
    throw new ServiceError('limit_reached', `the server keeps ${max} sessions of events`, {
      hint: 'append to a session that exists, or restart the server',
    })
  }
}
