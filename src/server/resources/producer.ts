/** One entry of `resources/list`. Key names are those of the MCP schema. */
export interface Descriptor {
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  /** Bytes of the body before base64. */
  readonly size?: number
  readonly annotations?: Annotations
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** One entry of `resources/templates/list` (RFC 6570). */
export interface Template extends Omit<Descriptor, 'uri' | 'size'> {
  readonly uriTemplate: string
}

/** One entry of `contents` whose body is text, such as JSON. */
export interface TextContent {
  readonly uri: string
  /** When absent: what the listing says, else `text/plain`. */
  readonly mimeType?: string
  readonly text: string
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** A body already encoded: `base64` holds the ASCII bytes of the padded encoding. */
export interface EncodedBlob {
  readonly base64: Uint8Array
}

/**
 * A body too large to hold: `open` yields its `size` bytes in order. A piece is valid until the
 * next one is asked for. The iterable throws when the bytes turn out to be damaged, at the latest
 * before it ends. `cut` ends the client's connection; it may be called while others wait.
 */
export interface StreamedBlob {
  readonly size: number
  open(cut: () => void): AsyncIterable<Uint8Array>
}

/** One entry of `contents` whose body is bytes; the wire carries padded base64. */
export interface BlobContent {
  readonly uri: string
  /** When absent: what the listing says, else `application/octet-stream`. */
  readonly mimeType?: string
  /** Raw bytes, or base64 text with padding, or one of the forms above. */
  readonly blob: Uint8Array | string | EncodedBlob | StreamedBlob
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** The members of a result as JSON text of another server, which are passed on unchanged. */
export type RelayedContents = string | RelayedJson

/** JSON text that is still coming: `open` yields its bytes in order. `cut` as above. */
export interface RelayedJson {
  open(cut: () => void): AsyncIterable<Uint8Array>
  /** In place of `open`: the text is not wanted. */
  discard(): void
}

/** What `read` returns an array of: exactly one of `text` and `blob`. */
export type Content = TextContent | BlobContent

export interface DescriptorPage {
  readonly descriptors: readonly Descriptor[]
  /** Opaque position of the next page; absent on the last one. */
  readonly next?: string
}

/**
 * A source of resources under one URI scheme. `list` runs on every client's reconnect: keep it
 * cheap. An array that is frozen, together with its entries, and returned again means
 * "unchanged": the server then reuses the serialised answer.
 */
export interface ResourceProducer {
  /** Without `://`, RFC 3986: a letter, then letters, digits, `+`, `-`, `.`; lower case. */
  readonly scheme: string
  /** All resources there are now. What it throws or returns late costs its own entries alone. */
  list(): readonly Descriptor[] | Promise<readonly Descriptor[]>
  /**
   * The contents under the URI as the client wrote it, query included. Throws `ResourceNotFound`
   * for a URI it does not have, `ResourceUriInvalid` for one that is wrong; anything else
   * becomes `resource_failed`, of which the client learns nothing.
   */
  read(uri: string): readonly Content[] | Promise<readonly Content[]>
  /** Forms of URIs that `list` does not enumerate. Runs as often as `list`. */
  templates?(): readonly Template[]
}

/** For whom an entry of a listing is and how much it matters. Members as in the MCP schema. */
export interface Annotations {
  readonly audience?: readonly ('user' | 'assistant')[]
  /** From 0, the least important, to 1, without which little makes sense. */
  readonly priority?: number
  /** RFC 3339 */
  readonly lastModified?: string
}

/** The caller of a read. */
export interface Reader {
  /** Aborted once the caller has left. */
  readonly signal: AbortSignal
  /** What is for writers alone is as if it were not served. Absent: it is served. */
  readonly isReadOnly?: boolean
  /** Schemes of instances that it may read at a gateway. Absent or null: all. */
  readonly schemes?: readonly string[] | null
  /** What its client calls itself. */
  readonly client?: { readonly name: string; readonly version: string }
}
