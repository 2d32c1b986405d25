import { defaultEventLimit } from './session-event-buffer.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { type SchemeProducer, freezeAll, jsonContents } from './scheme-producer.ts'
import { suggestedLimits } from './completion.ts'
import { ResourceNotFound } from './errors.ts'
import type { CompletionContext, Content, Descriptor, Template } from './producer.ts'
import { countParameter, limitParameter, switchParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'
import type { SessionEventBuffer } from './session-event-buffer.ts'

/** Events of one page at most: a greater `limit` counts as this. */
const maxEventLimit = 1000

const annotations = { audience: ['user', 'assistant'], priority: 0.3 } as const

export const sessionEventTemplates: readonly Template[] = freezeAll([
  {
    uriTemplate: 'events://session/{session_id}{?cursor,limit,drain}',
    name: 'Session events by cursor',
    title: 'Session events by cursor',
    description:
      'Events of a session with an id greater than `cursor`; drain=true removes what was returned',
    mimeType: 'application/json',
    annotations,
  },
])

interface Listed {
  readonly newestCursor: number
  readonly descriptor: Descriptor
}

/** `events://session/<id>`: any number of session event buffers. Never pushed. */
export class SessionEventsProducer implements SchemeProducer {
  readonly #buffers = new Map<string, SessionEventBuffer>()
  readonly #listed = new Map<SessionEventBuffer, Listed>()
  #descriptors: readonly Descriptor[] = Object.freeze([])

  constructor() {}

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
  }

  /** False when it is not registered. */
  remove(buffer: SessionEventBuffer): boolean {
    if (this.#buffers.get(buffer.sessionId) !== buffer) return false
    this.#buffers.delete(buffer.sessionId)
    this.#listed.delete(buffer)
    return true
  }

  /** Looks at the buffers when asked, so that appending costs nothing here. */
  list(): readonly Descriptor[] {
    const now = Array.from(this.#buffers.values(), buffer => this.#describe(buffer))
    const same =
      now.length === this.#descriptors.length &&
      now.every((descriptor, at) => descriptor === this.#descriptors[at])
    if (!same) this.#descriptors = Object.freeze(now)
    return this.#descriptors
  }

  templates(): readonly Template[] {
    return sessionEventTemplates
  }

  complete(variable: string, typed: string, context: CompletionContext): readonly string[] {
    return this.#values(variable, context).filter(value => value.startsWith(typed))
  }

  read(uri: ResourceUri): readonly Content[] {
    const id = uri.path.startsWith('session/') ? uri.path.slice('session/'.length) : ''
    const buffer = this.#buffers.get(id)
    if (buffer === undefined) throw new ResourceNotFound(uri.text)
    return jsonContents(uri.text, JSON.stringify(buffer.page(this.#pageOf(uri))))
  }

  checkParameters(uri: ResourceUri): void {
    this.#pageOf(uri)
  }

  #pageOf(uri: ResourceUri) {
    return {
      cursor: countParameter(uri, 'cursor') ?? 0,
      limit: limitParameter(uri, defaultEventLimit, maxEventLimit),
      drain: switchParameter(uri, 'drain') ?? false,
    }
  }

  /** Invalid values of `drain` count as changes, too: a read then reports what is wrong. */
  changes(uri: ResourceUri): boolean {
    return !['false', '0'].includes(uri.query.get('drain') ?? 'false')
  }

  /** Session ids; those that something happened in last come first. */
  #newestFirst(): readonly string[] {
    const appended = ({ lastAppendedAt }: SessionEventBuffer) =>
      Date.parse(lastAppendedAt ?? '') || 0
    return Array.from(this.#buffers.values())
      .sort((left, right) => appended(right) - appended(left))
      .map(({ sessionId }) => sessionId)
  }

  #values(variable: string, { resolved }: CompletionContext): readonly string[] {
    switch (variable) {
      case 'session_id':
        return this.#newestFirst()
      case 'cursor': {
        // All that is retained, or what comes from now on.
        const buffer = this.#buffers.get(resolved.get('session_id') ?? '')
        return buffer === undefined ? ['0'] : [...new Set(['0', String(buffer.newestCursor)])]
      }
      case 'limit':
        return suggestedLimits(defaultEventLimit, maxEventLimit)
      case 'drain':
        return ['false', 'true']
      default:
        return []
    }
  }

  /** The identical one until something is appended. */
  #describe(buffer: SessionEventBuffer): Descriptor {
    const { newestCursor } = buffer
    const known = this.#listed.get(buffer)
    if (known?.newestCursor === newestCursor) return known.descriptor
    const descriptor = describe(buffer)
    this.#listed.set(buffer, { newestCursor, descriptor })
    return descriptor
  }
}

function describe({ uri, sessionId, lastAppendedAt }: SessionEventBuffer): Descriptor {
  const name = `Events of session ${sessionId}`
  return Object.freeze({
    uri,
    name,
    title: name,
    description:
      'Diagnostics: console output, errors and progress of the session, read by ?cursor=N; never pushed',
    mimeType: 'application/json',
    annotations: {
      ...annotations,
      ...(lastAppendedAt === null ? {} : { lastModified: lastAppendedAt }),
    },
  })
}
