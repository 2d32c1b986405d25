import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { ResourceUriInvalid } from './errors.ts'
import type { Descriptor } from './producer.ts'
import { maxUriChars } from './resource-uri.ts'
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
  async page(cursor: unknown, producers: SchemeProducer[]): Promise<ListPage> {
    const key = parseCursor(cursor)
    const paged = producers.find(producer => producer.page !== undefined)
    if (key.startsWith('a')) {
      // A server without artefacts never gave out such a cursor.
      if (paged === undefined) throw new ResourceUriInvalid(unknownCursor)
      const { descriptors, next } = await this.#tail(paged, key.slice(1), this.#pageSize)
      return this.#keep(key, none, 0, descriptors, next)
    }
    const from = Number(key.slice(1))
    const fixed = this.#joined(await Promise.all(producers.map(each => each.list?.() ?? none)))
    const end = from + this.#pageSize
    if (end < fixed.length) return this.#keep(key, fixed, from, none, `f${end}`)
    if (paged === undefined) return this.#keep(key, fixed, from, none)
    const free = Math.min(end - fixed.length, this.#pageSize)
    if (free === 0) return this.#keep(key, fixed, from, none, 'a')
    const { descriptors, next } = await this.#tail(paged, '', free)
    return this.#keep(key, fixed, from, descriptors, next)
  }

  /** A failing store never costs the other resources. Rejects only for an invalid position. */
  async #tail({ page }: SchemeProducer, after: string, limit: number) {
    try {
      const found = await page?.(after === '' ? undefined : after, limit)
      const next = found?.next === undefined ? undefined : `a${found.next}`
      return { descriptors: found?.descriptors ?? none, next }
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'resource_uri_invalid') throw error
      this.#log.error({ err: error }, 'artefacts cannot be listed')
      return { descriptors: none, next: undefined }
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

const unknownCursor = 'invalid cursor; start again without one'

/** Where the page starts: `f` and an offset in the fixed part, or `a` and a position behind it. */
function parseCursor(cursor: unknown): string {
  if (cursor === undefined) return 'f0'
  const isText = typeof cursor === 'string' && cursor.length <= maxUriChars
  const text = isText ? Buffer.from(cursor, 'base64url').toString() : ''
  // Node decodes leniently; only what it encodes itself is a cursor.
  const isOurs = Buffer.from(text).toString('base64url') === cursor
  if (isOurs && /^(?:f\d{1,9}|a.*)$/s.test(text)) return text
  throw new ResourceUriInvalid(unknownCursor)
}
