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
}

/** A page, and what it was made of. */
interface KeptPage {
  readonly fixed: readonly Descriptor[]
  readonly tail: readonly Descriptor[]
  readonly page: ListPage
}

const maxKeptPages = 16
const none: readonly Descriptor[] = Object.freeze([])
const invalidCursor = 'invalid cursor; start again without one'

/**
 * Cuts all resources into pages: the fixed part, which producers list whole, then what one producer
 * lists page by page. Gives out the same page object while nothing changed.
 */
export class Listing {
  readonly #pageSize: number
  readonly #log: Logger
  readonly #kept = new Map<string, KeptPage>()
  #lists: readonly (readonly Descriptor[])[] = []
  #fixed = none

  constructor(pageSize: number, log: Logger) {
    this.#pageSize = pageSize
    this.#log = log
  }

  /** Rejects with `ResourceUriInvalid` for an invalid cursor. */
  async page(cursor: string | undefined, producers: SchemeProducer[]): Promise<ListPage> {
    const key = parseCursor(cursor)
    const position = key.slice(1)
    const paged = producers.find(producer => producer.page !== undefined)
    // A server without artefacts never gave out such a cursor.
    if (paged === undefined && key.startsWith('a')) throw new ResourceUriInvalid(invalidCursor)
    const fixed = this.#joined(await Promise.all(producers.map(each => each.list?.() ?? none)))
    const from = key.startsWith('f') ? Number(position) : Infinity
    const end = from + this.#pageSize
    if (end < fixed.length) return this.#keep(key, fixed, from, none, `f${end}`)
    if (paged === undefined) return this.#keep(key, fixed, from, none)
    const free = Math.min(end - fixed.length, this.#pageSize)
    if (free === 0) return this.#keep(key, fixed, from, none, 'a')
    const after = key.startsWith('a') ? position : ''
    const { descriptors, next } = await this.#tail(paged, after, free)
    return this.#keep(key, fixed, from, descriptors, next && `a${next}`)
  }

  /** A failing store never costs the other resources. Rejects only for an invalid position. */
  async #tail(producer: SchemeProducer, after: string, limit: number): Promise<DescriptorPage> {
    try {
      return (await producer.page?.(after || undefined, limit)) ?? { descriptors: none }
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'resource_uri_invalid') throw error
      this.#log.error({ err: error }, 'artefacts cannot be listed')
      return { descriptors: none }
    }
  }

  /** The page made of the same parts as last time is the same object. */
  #keep(
    key: string,
    fixed: readonly Descriptor[],
    from: number,
    tail: readonly Descriptor[],
    next?: string,
  ): ListPage {
    const nextCursor = next && Buffer.from(next).toString('base64url')
    const kept = this.#kept.get(key)
    if (kept?.fixed === fixed && kept.tail === tail && kept.page.nextCursor === nextCursor) {
      return kept.page
    }
    const descriptors = Object.freeze([...fixed.slice(from, from + this.#pageSize), ...tail])
    const page = Object.freeze({ descriptors, ...(nextCursor && { nextCursor }) })
    if (kept === undefined && this.#kept.size >= maxKeptPages) this.#kept.clear()
    // Only a frozen list promises that it is unchanged when it comes again.
    if (Object.isFrozen(tail)) this.#kept.set(key, { fixed, tail, page })
    return page
  }

  #joined(lists: (readonly Descriptor[])[]): readonly Descriptor[] {
    const isSame =
      lists.length === this.#lists.length && lists.every((list, at) => list === this.#lists[at])
    if (!isSame) {
      this.#lists = lists
      this.#fixed = Object.freeze(lists.flat())
    }
    return this.#fixed
  }
}

/** Where the page starts: `f` and an offset in the fixed part, or `a` and a position behind it. */
function parseCursor(cursor: string | undefined): string {
  if (cursor === undefined) return 'f0'
  const text = Buffer.from(cursor, 'base64url').toString()
  if (/^(?:f\d{1,9}|a.*)$/s.test(text)) return text
  throw new ResourceUriInvalid(invalidCursor)
}
