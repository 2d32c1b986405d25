import type { MaybePromise } from './maybe-promise.ts'
import type {
  CompletionContext,
  CompletionValues,
  Content,
  Descriptor,
  Template,
} from './producer.ts'
import type { Reader } from './reader.ts'

/**
 * A scheme of the product's own that comes and goes while the server runs. Trusted, unlike a
 * `ResourceProducer`: what it returns is well-formed, its arrays and their entries are frozen,
 * and the identical array again means "unchanged".
 */
export interface SchemeSource {
  readonly scheme: string
  /** What there is now, without waiting for anybody. Never throws. */
  list(): readonly Descriptor[]
  /** Likewise. */
  templates(): readonly Template[]
  /**
   * Throws or rejects with a `ServiceError` of a `resource_` code, which reaches the reader as it
   * is, `data` included; anything else is logged and becomes `producer_failed`. Once every reader
   * has left, the answer may be anything.
   */
  read(uri: string, reader?: Reader): MaybePromise<readonly Content[]>
  complete?(
    variable: string,
    prefix: string,
    context: CompletionContext,
  ): MaybePromise<CompletionValues>
}

/** Where a source hangs in the registry. */
export interface Attachment {
  /** The source lists something else now, or has other templates. */
  listChanged(): void
  /** The scheme is free again; more than once does nothing. */
  detach(): void
}

/** May a source or producer take the scheme? */
export type SchemeState = 'free' | 'taken' | 'reserved'
