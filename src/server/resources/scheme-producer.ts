import { wellFormedJson } from '../../lib/util/json.ts'
import type {
  Content,
  Descriptor,
  DescriptorPage,
  Reader,
  RelayedContents,
  Template,
} from './producer.ts'
import type { ResourceUri } from './resource-uri.ts'

/** The resources of one scheme, as the resource registry asks for them. */
export interface SchemeProducer {
  /** Never fails. The identical frozen array again means "unchanged". Absent: it lists none. */
  list?(): readonly Descriptor[] | Promise<readonly Descriptor[]>
  /**
   * In place of `list`, for too many to list at once. They follow all others. The identical page
   * again means "unchanged".
   */
  page?(after: string | undefined, limit: number): Promise<DescriptorPage>
  /** Not listed, and shown first where a model looks for what there is. Never fails. */
  first?(reader: Reader): readonly Descriptor[]
  /** Never fails. */
  templates?(): readonly Template[]
  /**
   * A `ServiceError` of a `resource_` code reaches the reader as it is; anything else is logged and
   * becomes `producer_failed`. Once every reader has left, the answer may be anything.
   */
  read(uri: ResourceUri, reader?: Reader): readonly Content[] | Promise<readonly Content[]>
  /** The result as another server sends it. Absent: `read` has the contents. */
  relay?(uri: ResourceUri, reader?: Reader): Promise<RelayedContents>
  /** Values for a variable of a template. Absent: those in the listed URIs. */
  complete?(variable: string, prefix: string): readonly string[] | Promise<readonly string[]>
  /** The spelling under which updates of the URI are announced; undefined: the URI normalised. */
  canonical?(uri: ResourceUri): string | undefined
  /** Throws for a URI that can never be read. Absent: the resource may come later. */
  checkParameters?(uri: ResourceUri, reader?: Reader): void
  /** Whether updates of the URI ever come. Absent: they do, unless the scheme is polled. */
  pushes?(uri: ResourceUri): boolean
  /**
   * The URI (without its query) has its first subscriber, or none any more. A promise is of the time
   * when its updates arrive.
   */
  follow?(uri: string, isFollowed: boolean): Promise<void> | void
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

/**
 * Built-in entries, frozen. Their title is the name, which clients older than 2025-06-18 show; they
 * are JSON unless they say otherwise.
 */
export function builtIn<Item extends Descriptor | Template>(items: Item[]): readonly Item[] {
  const json = { mimeType: 'application/json' }
  return Object.freeze(
    items.map(item => Object.freeze<Item>({ ...json, ...item, title: item.name })),
  )
}
