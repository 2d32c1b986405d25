import { LRUCache } from 'lru-cache'
import type { ResourceRegistry } from '../resources/registry.ts'
import { SessionEventBuffer } from '../resources/session-event-buffer.ts'

type BufferRegistry = Pick<
  ResourceRegistry,
  'registerSessionEventBuffer' | 'removeSessionEventBuffer'
>

const maxBuffers = 100

/** The buffers of the application. One too many takes the place of the one used longest ago. */
export class EventBuffers {
  readonly #registry: BufferRegistry
  readonly #bySession: LRUCache<string, SessionEventBuffer>

  constructor(registry: BufferRegistry) {
    this.#registry = registry
    const dispose = (buffer: SessionEventBuffer) => registry.removeSessionEventBuffer(buffer)
    this.#bySession = new LRUCache({ max: maxBuffers, dispose })
  }

  /** The session's buffer, made at the first call, whose bounds count then. */
  open(sessionId: string, maxlen?: number, maxMessageBytes?: number): SessionEventBuffer {
    const known = this.#bySession.get(sessionId)
    if (known !== undefined) return known
    const buffer = new SessionEventBuffer({ sessionId, maxlen, maxMessageBytes })
    this.#registry.registerSessionEventBuffer(buffer)
    this.#bySession.set(sessionId, buffer)
    return buffer
  }

  /** Listed and read no more. */
  remove(sessionId: string): void {
    this.#bySession.delete(sessionId)
  }
}
