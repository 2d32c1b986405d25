import { ServiceError } from '../../lib/errors.ts'
import type { Limits } from '../options.ts'
import { type BuiltIn, freezeAll, jsonContents } from './built-in.ts'
import { ResourceNotFound } from './errors.ts'
import type { Content, Descriptor, Template } from './producer.ts'
import { countParameter, flagParameter, limitParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'
import type { SessionEventBuffer } from './session-event-buffer.ts'

const templates: readonly Template[] = freezeAll([
  {
    uriTemplate: 'events://session/{session_id}{?cursor,limit,drain}',
    name: 'Session events by cursor',
    description:
      'Events of a session with an id greater than `cursor`; drain=true removes what was returned',
    mimeType: 'application/json',
  },
])

/** `events://session/<id>`: any number of session event buffers. Never pushed. */
export class SessionEventsProducer implements BuiltIn {
  readonly #limits: Pick<Limits, 'defaultEventLimit' | 'maxEventLimit'>
  readonly #buffers = new Map<string, SessionEventBuffer>()
  #descriptors: readonly Descriptor[] | undefined

  constructor(limits: Pick<Limits, 'defaultEventLimit' | 'maxEventLimit'>) {
    this.#limits = limits
  }

  /** Throws when a buffer of the same session is there already. */
  register(buffer: SessionEventBuffer): void {
    if (this.#buffers.has(buffer.sessionId)) {
      throw new ServiceError(
        'usage_invalid',
        `a session event buffer is already registered as ${buffer.uri}`,
        { hint: 'give every buffer its own sessionId' },
      )
    }
    this.#buffers.set(buffer.sessionId, buffer)
    this.#descriptors = undefined
  }

  /** False when it is not registered. */
  remove(buffer: SessionEventBuffer): boolean {
    if (this.#buffers.get(buffer.sessionId) !== buffer) return false
    this.#buffers.delete(buffer.sessionId)
    this.#descriptors = undefined
    return true
  }

  list(): readonly Descriptor[] {
    this.#descriptors ??= freezeAll(Array.from(this.#buffers.values(), describe))
    return this.#descriptors
  }

  templates(): readonly Template[] {
    return templates
  }

  complete(variable: string, prefix: string): readonly string[] {
    return this.#values(variable).filter(value => value.startsWith(prefix))
  }

  read(uri: ResourceUri): readonly Content[] {
    const id = uri.path.startsWith('session/') ? uri.path.slice('session/'.length) : ''
    const buffer = this.#buffers.get(id)
    if (buffer === undefined) throw new ResourceNotFound(uri.text)
    const { defaultEventLimit, maxEventLimit } = this.#limits
    const page = buffer.page({
      cursor: countParameter(uri, 'cursor') ?? 0,
      limit: limitParameter(uri, defaultEventLimit, maxEventLimit),
      drain: flagParameter(uri, 'drain'),
    })
    return jsonContents(uri.text, JSON.stringify(page))
  }

  #values(variable: string): readonly string[] {
    switch (variable) {
      case 'session_id':
        return [...this.#buffers.keys()]
      case 'limit':
        return [String(this.#limits.defaultEventLimit), String(this.#limits.maxEventLimit)]
      case 'drain':
        return ['true', 'false']
      default:
        return []
    }
  }
}

function describe(buffer: SessionEventBuffer): Descriptor {
  return {
    uri: buffer.uri,
    name: `Events of session ${buffer.sessionId}`,
    description: 'Diagnostics of the session, read by ?cursor=N; never pushed',
    mimeType: 'application/json',
  }
}
