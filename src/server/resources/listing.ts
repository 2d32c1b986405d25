import type { ResourceLimits } from './limits.ts'
import { maxUriChars } from './resource-uri.ts'
import { ResourceUriInvalid } from './errors.ts'
import { all, chain, type MaybePromise } from './maybe-promise.ts'
import { maxKeptAnswers } from './kept-answers.ts'
import type { Descriptor, DescriptorPage } from './producer.ts'
import { fail, ok, type Result } from '../../lib/util/result.ts'

/** One page of `resources/list`. The identical object again means "unchanged". */
export interface ListPage {
  readonly descriptors: readonly Descriptor[]
  /** Absent on the last page. */
  readonly nextCursor?: string
}

export interface ListSources {
  /** In the order of the listing. Never fail. */
  fixed(): readonly MaybePromise<readonly Descriptor[]>[]
  /** What follows them; undefined when there is nothing. */
  artefacts:
    ((after: string | undefined, limit: number) => MaybePromise<DescriptorPage>) | undefined
}

/** The part of the fixed list that is on a page. */
interface Head {
  readonly fixed: readonly Descriptor[]
  readonly from: number
  readonly to: number
}

interface KeptPage {
  readonly fixed: readonly Descriptor[]
  readonly tail: readonly Descriptor[]
  readonly page: ListPage
}

type ListLimits = Pick<ResourceLimits, 'pageSize'>

const noDescriptors: readonly Descriptor[] = Object.freeze([])
const noHead: Head = { fixed: noDescriptors, from: 0, to: 0 }

/** Cuts all resources into pages, and gives out the same page object while nothing changed. */
export class Listing {
  readonly #sources: ListSources
  readonly #limits: ListLimits
  readonly #kept = new Map<string, KeptPage>()
  #lists: readonly (readonly Descriptor[])[] = []
  #fixed: readonly Descriptor[] = noDescriptors

  constructor(sources: ListSources, limits: ListLimits) {
    this.#sources = sources
    this.#limits = limits
  }

  /** Throws `ResourceUriInvalid` for an invalid cursor. */
  page(cursor: unknown): MaybePromise<ListPage> {
    const parsed = parseCursor(cursor, maxUriChars)
    if (!parsed.ok) throw new ResourceUriInvalid(parsed.failure)
    const key = typeof cursor === 'string' ? cursor : ''
    const position = parsed.value
    // A server without artefacts never gave out such a cursor.
    if (position.part === 'artefacts' && this.#sources.artefacts === undefined) {
      throw new ResourceUriInvalid(unknownCursor)
    }
    if (position.part === 'artefacts') return this.#lastPages(key, noHead, position.after)
    return chain(all(this.#sources.fixed()), lists => {
      const fixed = this.#joined(lists)
      const from = Math.min(position.offset, fixed.length)
      const to = Math.min(from + this.#limits.pageSize, fixed.length)
      const head = { fixed, from, to }
      if (to < fixed.length) {
        const next = encodeCursor({ part: 'fixed', offset: to })
        return this.#keep(key, head, noDescriptors, next)
      }
      return this.#lastPages(key, head, undefined)
    })
  }

  /** A page that reaches the artefacts: the end of the fixed part, then as many as fit. */
  #lastPages(key: string, head: Head, after: string | undefined): MaybePromise<ListPage> {
    const { artefacts } = this.#sources
    if (artefacts === undefined) return this.#keep(key, head, noDescriptors, undefined)
    const free = this.#limits.pageSize - (head.to - head.from)
    if (free === 0) {
      const next = encodeCursor({ part: 'artefacts', after: undefined })
      return this.#keep(key, head, noDescriptors, next)
    }
    return chain(artefacts(after, free), ({ descriptors, next }) => {
      const cursor =
        next === undefined ? undefined : encodeCursor({ part: 'artefacts', after: next })
      return this.#keep(key, head, descriptors, cursor)
    })
  }

  /** The page made of the same parts as last time is the same object. */
  #keep(
    key: string,
    head: Head,
    tail: readonly Descriptor[],
    nextCursor: string | undefined,
  ): ListPage {
    const { fixed, from, to } = head
    const kept = this.#kept.get(key)
    if (kept?.fixed === fixed && kept.tail === tail && kept.page.nextCursor === nextCursor) {
      return kept.page
    }
    const descriptors = Object.freeze([...fixed.slice(from, to), ...tail])
    const page = Object.freeze({ descriptors, ...(nextCursor !== undefined && { nextCursor }) })
    if (kept === undefined && this.#kept.size >= maxKeptAnswers) this.#kept.clear()
    // Only a frozen list promises that it is unchanged when it comes again.
    if (Object.isFrozen(tail)) this.#kept.set(key, { fixed, tail, page })
    else this.#kept.delete(key)
    return page
  }

  #joined(lists: readonly (readonly Descriptor[])[]): readonly Descriptor[] {
    const same =
      lists.length === this.#lists.length && lists.every((list, at) => list === this.#lists[at])
    if (!same) {
      this.#lists = lists
      this.#fixed = Object.freeze(lists.flat())
    }
    return this.#fixed
  }
}

/** Where a page of the listing starts: in the fixed part, or in the artefacts behind it. */
type ListPosition =
  | { readonly part: 'fixed'; readonly offset: number }
  | { readonly part: 'artefacts'; readonly after: string | undefined }

const unknownCursor = 'invalid cursor; start again without one'

function encodeCursor(position: ListPosition): string {
  const text = position.part === 'fixed' ? `f${position.offset}` : `a${position.after ?? ''}`
  return Buffer.from(text).toString('base64url')
}

/** The failure is a short text for the reader. */
function parseCursor(cursor: unknown, maxChars: number): Result<ListPosition, string> {
  if (cursor === undefined) return ok({ part: 'fixed', offset: 0 })
  const bad = fail(unknownCursor)
  if (typeof cursor !== 'string' || cursor.length > maxChars) return bad
  const text = Buffer.from(cursor, 'base64url').toString()
  // Node decodes leniently; only what it encodes itself is a cursor.
  if (Buffer.from(text).toString('base64url') !== cursor) return bad
  if (text.startsWith('a')) {
    return ok({ part: 'artefacts', after: text === 'a' ? undefined : text.slice(1) })
  }
  return /^f\d{1,9}$/.test(text) ? ok({ part: 'fixed', offset: Number(text.slice(1)) }) : bad
}
