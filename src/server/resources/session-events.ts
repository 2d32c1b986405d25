import { ServiceError } from '../../lib/util/errors.ts'
import { type SchemeProducer, builtIn, jsonContents } from './scheme-producer.ts'
import { ResourceNotFound } from './errors.ts'
import type { Content, Descriptor, Reader, Template } from './producer.ts'
import { integerParameter, limitParameter, switchParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'
import { defaultEventLimit, type SessionEventBuffer } from './session-event-buffer.ts'

/** Events of one page at most: a greater `limit` counts as this. */
const maxEventLimit = 1000

const annotations = { audience: ['user', 'assistant'], priority: 0.3 } as const

export const sessionEventTemplates: readonly Template[] = builtIn([
  {
    uriTemplate: 'events://session/{session_id}{?cursor,limit,drain}',
    name: 'Session events by cursor',
    description:
      'Events of a session with an id greater than `cursor`; drain=true removes what was returned',
    annotations,
  },
])

/** `events://session/<id>`: any number of session event buffers. Never pushed. */
export class SessionEventsProducer implements SchemeProducer {
  readonly #buffers = new Map<string, SessionEventBuffer>()
  #descriptors: readonly Descriptor[] = Object.freeze([])

  /** Throws when a buffer of the same session is there already. */
  register(buffer: SessionEventBuffer): void {
    if (this.#buffers.has(buffer.sessionId)) {
      throw new ServiceError('usage_invalid', `there is a buffer ${buffer.uri} already`)
    }
    this.#buffers.set(buffer.sessionId, buffer)
    this.#describe()
  }

  /** False when it is not registered. */
  remove(buffer: SessionEventBuffer): boolean {
    if (this.#buffers.get(buffer.sessionId) !== buffer) return false
    this.#buffers.delete(buffer.sessionId)
    this.#describe()
    return true
  }

  list(): readonly Descriptor[] {
    return this.#descriptors
  }

  templates(): readonly Template[] {
    return sessionEventTemplates
  }

  read(uri: ResourceUri, reader?: Reader): readonly Content[] {
    const page = pageOf(uri)
    if (page.drain && reader?.isReadOnly === true) {
      throw new ServiceError('scope_insufficient', 'this caller may only read, without drain=true')
    }
    const id = uri.path.startsWith('session/') ? uri.path.slice('session/'.length) : ''
    const buffer = this.#buffers.get(id)
    if (buffer === undefined) throw new ResourceNotFound(uri.text)
    return jsonContents(uri.text, JSON.stringify(buffer.page(page)))
  }

  checkParameters(uri: ResourceUri): void {
    pageOf(uri)
  }

  #describe(): void {
    this.#descriptors = builtIn(Array.from(this.#buffers.values(), describe))
  }
}

function pageOf(uri: ResourceUri) {
  return {
    cursor: integerParameter(uri, 'cursor') ?? 0,
    limit: limitParameter(uri, defaultEventLimit, maxEventLimit),
    drain: switchParameter(uri, 'drain') ?? false,
  }
}

function describe({ uri, sessionId }: SessionEventBuffer): Descriptor {
  return {
    uri,
    name: `Events of session ${sessionId}`,
    description:
      'Diagnostics: console output, errors and progress of the session, read by ?cursor=N; never pushed',
    annotations,
  }
}
