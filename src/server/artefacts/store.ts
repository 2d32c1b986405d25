import type { CheckFacts } from './database/regular-check.ts'

/**
 * What is known of an artefact beside its bytes. Member names are those on disk and on the wire.
 */
export interface ArtefactRef {
  /** `artefact://sha256/<hex>` */
  readonly uri: string
  readonly mime: string
  readonly size_bytes: number
  readonly display_name: string | null
  /** `sha256:<hex>` */
  readonly digest: string
  readonly session_id: string | null
  readonly tool_call_id: string | null
  readonly job_id: string | null
  readonly correlation_id: string | null
  /** Of the server that stored it; null when a program did so without a server. */
  readonly instance_id: string | null
  /** Of the application beside that server. */
  readonly dcc_type: string | null
  /** RFC 3339 */
  readonly created_at: string
  /** RFC 3339, or null when only the store's own time to live applies. */
  readonly expires_at: string | null
  readonly metadata: unknown
}

/** What a caller may say about the bytes it stores. */
export interface ArtefactOptions {
  /** Default `application/octet-stream`. */
  mime?: string
  /** 1 to 255 characters without control characters, like the four ids. */
  displayName?: string
  sessionId?: string
  toolCallId?: string
  jobId?: string
  correlationId?: string
  /** In the future. A `Date` or an RFC 3339 text. */
  expiresAt?: Date | string
  /** Any JSON value, at most `maxArtefactMetadataBytes` (64 KiB) of JSON. */
  metadata?: unknown
}

/** Which artefacts are meant: every given member must be equal. */
export interface ArtefactFilter {
  mime?: string
  sessionId?: string
  toolCallId?: string
  jobId?: string
  correlationId?: string
  /** RFC 3339 or `Date`: only artefacts created at or after it. */
  createdSince?: Date | string
}

/** Which server stores an artefact, and for which application. */
export type ArtefactOrigin = Pick<ArtefactRef, 'instance_id' | 'dcc_type'>

export interface ArtefactPage {
  /** Newest first. */
  readonly refs: readonly ArtefactRef[]
  /** Opaque position of the next page; absent on the last one. */
  readonly next?: string
}

interface StorageHealth {
  readonly bucket: CheckFacts
  readonly database: CheckFacts
}

export interface PutResult {
  readonly ref: ArtefactRef
  /** The bytes were there before. */
  readonly existed: boolean
}

/**
 * An artefact opened for reading. `close` must be called; reads are positional. A piece holds its
 * bytes until the next one is asked for: a caller that keeps it copies it.
 */
export interface OpenArtefact {
  readonly ref: ArtefactRef
  /** The same text means the same, untouched file. */
  readonly state: string
  /** Fills `target` from byte `position` on, unverified; returns how many bytes there were. */
  fill(target: Uint8Array, position: number): Promise<number>
  /** Bytes `start` to `end` (exclusive), unverified: for ranges. */
  range(start: number, end: number): AsyncIterable<Uint8Array>
  /**
   * All bytes, hashed on the way; throws `artefact_corrupt` before it ends when they are not the
   * stored ones.
   */
  verified(): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/**
 * Content-addressed storage. Several processes may share one; every put that returned is durable.
 */
export interface ArtefactStore {
  put(source: Uint8Array | AsyncIterable<Uint8Array>, options?: ArtefactOptions): Promise<PutResult>
  /** Null when nothing (unexpired) is stored under the hash. `hex` is 64 lower-case digits. */
  find(hex: string): Promise<ArtefactRef | null>
  open(hex: string): Promise<OpenArtefact | null>
  /**
   * Like `open`, for sending to a client that may read slowly or not at all. Only so many are open
   * at a time; further calls wait until one is closed, and throw `overloaded` after some seconds.
   * `cut`
   * ends the connection of the client: called for a slow reader while others wait.
   */
  openToSend(hex: string, cut: () => void): Promise<OpenArtefact | null>
  page(after: string | undefined, limit: number, filter?: ArtefactFilter): Promise<ArtefactPage>
  /** Up to `limit` hashes that start with `prefix`, those stored last first. */
  startingWith(prefix: string, limit: number): Promise<readonly string[]>
  remove(hex: string): Promise<boolean>
  /**
   * Called after artefacts were added or removed, by this process or another. Returns the
   * unsubscribe.
   */
  onChange(listener: () => void): () => void
  /** Called with the hash of each artefact that was removed. Returns the unsubscribe. */
  onRemove(listener: (hex: string) => void): () => void
  /** Whether what keeps the artefacts on other machines answers; missing for files of this one. */
  health?(): Promise<StorageHealth>
  /** Stops timers and watchers; stored bytes stay. */
  close(): Promise<void>
}
