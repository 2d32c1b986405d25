import type { ReadonlySignal } from '@preact/signals'

/** A part of an answer to `resources/read`. */
export interface Content {
  readonly uri: string
  readonly mimeType?: string
  readonly text?: string
  /** Base64. */
  readonly blob?: string
  readonly _meta?: Readonly<Record<string, unknown>>
}

export interface Descriptor {
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly mimeType?: string
  readonly size?: number
  readonly annotations?: { readonly lastModified?: string }
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** Whether what is shown is live. Times are milliseconds since the epoch. */
export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly sinceMs: number; readonly reason: string }
  /** The server asks for a key or a login link. */
  | { readonly kind: 'login' }

/** What screens read from: `/mcp` in a browser, or the host of a chat. */
export interface Carrier {
  readonly connection: ReadonlySignal<Connection>
  /** The schemes that the server serves to this caller, such as `scene` or `gateway`. */
  readonly schemes: ReadonlySignal<ReadonlySet<string>>
  /** Throws `McpError` when the server refuses, `Error` when it cannot be reached. */
  read(uri: string): Promise<Content>
  /** The descriptors, at most so many as anybody looks through. */
  list(): Promise<readonly Descriptor[]>
  /** Calls back after each update of the resource, and whenever updates may have been missed. */
  follow(uri: string, changed: () => void): void
}

/** Who follows which resource. */
export class Followers {
  readonly #byUri = new Map<string, (() => void)[]>()

  get uris(): Iterable<string> {
    return this.#byUri.keys()
  }

  add(uri: string, changed: () => void): void {
    this.#byUri.set(uri, [...(this.#byUri.get(uri) ?? []), changed])
  }

  notify(uri: string): void {
    this.#byUri.get(uri)?.forEach(changed => changed())
  }
}

/** A refusal by the server; `message` is for people. */
export class McpError extends Error {
  /** HTTP status, or 200 for a refusal inside JSON-RPC. */
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** The key of `listChanged` notifications among followed URIs. */
export const listKey = 'list'

/** Text content as JSON. */
export async function readJson<Value>(carrier: Pick<Carrier, 'read'>, uri: string): Promise<Value> {
  const { text = '' } = await carrier.read(uri)
  return JSON.parse(text) as Value
}
