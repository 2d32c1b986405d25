import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { ResourceUriInvalid } from './errors.ts'
import type { Descriptor, DescriptorPage } from './producer.ts'
import type { SchemeProducer } from './scheme-producer.ts'

/** One page of `resources/list`. The identical object again means "unchanged". */
export interface ListPage {
  readonly descriptors: readonly Descriptor[]
  /** Absent on the last page. */
  readonly nextCursor?: string
  /** What the listing lacks because it could not be had. */
  readonly incomplete?: string
}

const maxKeptPages = 16
const none: readonly Descriptor[] = Object.freeze([])
const nothing: DescriptorPage = { descriptors: none }
const unavailable: DescriptorPage = { descriptors: none }
const incomplete = 'artefacts cannot be listed now'
const invalidCursor = 'invalid cursor; start again without one'

/**
 * Cuts all resources into pages: the fixed part, which producers list whole, then what one producer
 * lists page by page. Gives out the same page object while nothing changed.
 */
export class Listing {
  readonly #producers: Map<string, SchemeProducer>
  readonly #pageSize: number
  readonly #log: Logger
  /** By start: the page, and the lists that it was made of. */
  readonly #kept = new Map<string, { page: ListPage; parts: readonly object[] }>()

  constructor(producers: Map<string, SchemeProducer>, pageSize: number, log: Logger) {
    this.#producers = producers
    this.#pageSize = pageSize
    this.#log = log
  }

  /** Rejects with `ResourceUriInvalid` for an invalid cursor. */
  async page(cursor: string | undefined): Promise<ListPage> {
    const start = parseCursor(cursor)
    const isFixed = start.startsWith('f')
    const producers = [...this.#producers.values()]
    const paged = producers.find(producer => producer.page !== undefined)
    // A server without artefacts never gave out such a cursor.
    if (paged === undefined && !isFixed) throw new ResourceUriInvalid(invalidCursor)
    const lists = await Promise.all(producers.map(producer => producer.list?.() ?? none))
    const length = lists.reduce((sum, list) => sum + list.length, 0)
    const from = isFixed ? Number(start.slice(1)) : length
    const end = from + this.#pageSize
    const free = Math.min(end - length, this.#pageSize)
    const after = isFixed ? '' : start.slice(1)
    const tail = paged && free > 0 ? await this.#tail(paged, after, free) : nothing

    const parts = [...lists, tail]
    const kept = this.#kept.get(start)
    if (kept?.parts.length === parts.length && kept.parts.every((part, at) => part === parts[at])) {
      return kept.page
    }
    const fixed = lists.flat().slice(from, end)
    const descriptors = Object.freeze([...fixed, ...tail.descriptors])
    let next: string | undefined
    if (free < 0) next = `f${end}`
    else if (paged && free === 0) next = 'a'
    else if (tail.next !== undefined) next = `a${tail.next}`
    const nextCursor = next && Buffer.from(next).toString('base64url')
    const page = Object.freeze({
      descriptors,
      ...(nextCursor && { nextCursor }),
      ...(tail === unavailable && { incomplete }),
    })
    if (this.#kept.size >= maxKeptPages) this.#kept.clear()
    this.#kept.set(start, { parts, page })
    return page
  }

  /** A failing store never costs the other resources. Rejects only for an invalid position. */
  async #tail(producer: SchemeProducer, after: string, limit: number): Promise<DescriptorPage> {
    try {
      return (await producer.page?.(after || undefined, limit)) ?? nothing
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'resource_uri_invalid') throw error
      this.#log.error({ err: error }, 'artefacts cannot be listed')
      return unavailable
    }
  }
}

/** Where the page starts: `f` and an offset in the fixed part, or `a` and a position behind it. */
function parseCursor(cursor: string | undefined): string {
  if (cursor === undefined) return 'f0'
  const text = Buffer.from(cursor, 'base64url').toString()
  if (/^(?:f\d{1,9}|a.*)$/s.test(text)) return text
  throw new ResourceUriInvalid(invalidCursor)
}
