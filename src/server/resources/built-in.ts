import { wellFormedJson } from '../../lib/util/json.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type {
  CompletionContext,
  CompletionValues,
  Content,
  Descriptor,
  Reader,
  Template,
} from './producer.ts'
import type { ResourceUri } from './resource-uri.ts'

/** A producer of the product's own for one scheme, given the URI already taken apart. */
export interface BuiltIn {
  list(): readonly Descriptor[]
  read(uri: ResourceUri, reader?: Reader): MaybePromise<readonly Content[]>
  templates(): readonly Template[]
  complete(
    variable: string,
    prefix: string,
    context: CompletionContext,
  ): MaybePromise<CompletionValues>
  /** The spelling under which updates of the URI are announced; undefined: the URI normalised. */
  canonical?(uri: ResourceUri): string | undefined
  /** Throws `ResourceUriInvalid` for parameters that `read` would refuse. Absent: it refuses none. */
  checkParameters?(uri: ResourceUri): void
  /** Whether reading the URI changes what others find. Absent: it does not. */
  changes?(uri: ResourceUri): boolean
  /** Whether updates of the URI ever come. Absent: they do, unless the scheme is polled. */
  pushes?(uri: ResourceUri): boolean
}

/** One text, frozen: returned again it says "unchanged". */
export function textContents(
  uri: string,
  mimeType: string,
  text: string,
  meta?: Content['_meta'],
): readonly Content[] {
  const content = { uri, mimeType, text, ...(meta === undefined ? {} : { _meta: meta }) }
  return Object.freeze([Object.freeze(content)])
}

export function jsonContents(
  uri: string,
  text: string,
  meta?: Content['_meta'],
): readonly Content[] {
  return textContents(uri, 'application/json', wellFormedJson(text), meta)
}

/** The contents, the first of them under the URI that was asked for. Frozen as they were. */
export function echoed(contents: readonly Content[], uri: string): readonly Content[] {
  const [first, ...rest] = contents
  if (first === undefined || first.uri === uri) return contents
  const renamed = [Object.freeze({ ...first, uri }), ...rest]
  return Object.isFrozen(contents) ? Object.freeze(renamed) : renamed
}

/** The annotation of what changed then; null: it never did. */
export function changedAt(timeMs: number | null): { readonly lastModified?: string } {
  return timeMs === null ? {} : { lastModified: toRfc3339(timeMs) }
}

export function freezeAll<Item extends object>(items: Item[]): readonly Item[] {
  return Object.freeze(items.map(item => Object.freeze(item)))
}
