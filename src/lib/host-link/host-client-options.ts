import type { Clock, Timer } from '../util/time.ts'
import type { Logger } from '../util/logger.ts'
import type { Secret } from '../util/secret.ts'
import type { HostApp } from './app-state.ts'
import type { HostStatus } from './connection.ts'
import type { ShownNotes } from './host-notes.ts'
import type { DocumentState } from './wire.ts'

export interface HostClientOptions {
  readonly app: HostApp
  /**
   * The `host_url` of the server, `http://127.0.0.1:8765/host`; requires `token`. Without both,
   * each attempt searches a running server with `findServe`.
   */
  readonly url?: string
  /** The host token; it is never printed. */
  readonly token?: string | Secret
  /** The state directory. Default `SERVICE_REGISTRY_DIR`, else that of the user. */
  readonly registryDir?: string
  /** The same for all connections of one run of the application. Default: a new UUID. */
  readonly instanceId?: string
  /** What is open in the application. Default null. */
  readonly document?: DocumentState | null
  /** Default: nothing is logged. */
  readonly log?: Logger
  /** Called at every change of `status`. Errors are logged. */
  readonly onStatus?: (status: HostStatus) => void
  /** Called with the notes of the open document whenever they change. Errors are logged. */
  readonly onNotes?: (shown: ShownNotes) => void
  readonly limits?: Partial<ClientLimits>
}

/** Replacements of system services for tests. */
export interface HostClientServices {
  readonly timer?: Timer
  /** Milliseconds that only go forward. */
  readonly clock?: Clock
  readonly random?: () => number
  readonly env?: NodeJS.ProcessEnv
}

/** A registered producer. After `remove()` its members do nothing. */
export interface ProducerHandle {
  /** Sends the new list to the server, which notifies its clients. */
  listChanged(): void
  /** Notifies the subscribers of this URI. */
  updated(uri: string): void
  remove(): void
}

/** The bounds and delays of the client. Times are in milliseconds. */
export interface ClientLimits {
  /** Queued audit records, and queued events; beyond it the oldest is dropped. */
  maxQueued: number
  /** Bytes of JSON in each queue; beyond it the oldest is dropped. */
  maxQueuedBytes: number
  /** Bytes of JSON of one record or event: a larger one is a `TypeError`. */
  maxItemBytes: number
  /** Event buffers open at once, as many as the server keeps. */
  maxEventBuffers: number
  /** Updated URIs not sent yet; beyond it the oldest is dropped. */
  maxPendingUpdates: number
  /** Queued uploads; further ones are refused. */
  maxUploads: number
  /** Bytes of one binary frame of an upload. */
  uploadFrameBytes: number
  /** Unsent bytes in the socket above which messages wait. */
  highWaterBytes: number
  /** For the handshake and the welcome. */
  openTimeoutMs: number
  /** For an answer; after that the message counts as not received. */
  answerTimeoutMs: number
  /** For a producer's `list`; after that its resources are not listed. */
  listTimeoutMs: number
  /** The answer to an upload, counted from its last byte: the server writes and checks it. */
  uploadAnswerTimeoutMs: number
  /** The delay before a refused message (`limit`, `busy`) is sent again. */
  resendMs: number
  /** Attempts to send a batch before it is dropped. */
  maxAttempts: number
  /** Silence after which the server counts as gone. */
  silenceMs: number
  /** A link of this duration resets the backoff. */
  stableMs: number
  /** `stop` waits this long for queued data, and again for the server to close. */
  stopGraceMs: number
}

export const defaultClientLimits: Readonly<ClientLimits> = Object.freeze({
  maxQueued: 1000,
  maxQueuedBytes: 8 * 1024 * 1024,
  maxItemBytes: 1024 * 1024,
  maxEventBuffers: 100,
  maxPendingUpdates: 1000,
  maxUploads: 100,
  uploadFrameBytes: 256 * 1024,
  highWaterBytes: 1024 * 1024,
  openTimeoutMs: 10_000,
  answerTimeoutMs: 30_000,
  listTimeoutMs: 5000,
  uploadAnswerTimeoutMs: 120_000,
  resendMs: 1000,
  maxAttempts: 5,
  silenceMs: 30_000,
  stableMs: 5000,
  stopGraceMs: 1000,
})
