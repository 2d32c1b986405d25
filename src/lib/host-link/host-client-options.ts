import type { Clock, Timer } from '../util/time.ts'
import type { Logger } from '../util/logger.ts'
import type { Secret } from '../util/secret.ts'
import type { HostApp } from './app-state.ts'
import type { HostStatus } from './connection.ts'
import type { DocumentState } from './wire.ts'

export interface HostClientOptions {
  readonly app: HostApp
  /**
   * `host_url` of the server, `http://127.0.0.1:8765/host`, together with `token`. Without both,
   * a running server is looked for at each attempt: `findServe`.
   */
  readonly url?: string
  /** The host token; it is never printed. */
  readonly token?: string | Secret
  /** Where to look for a server. Default `SERVICE_REGISTRY_DIR`, else the usual folder. */
  readonly registryDir?: string
  /** The same for all connections of one run of the application. Default: a new UUID. */
  readonly instanceId?: string
  /** What is open in the application. Default null. */
  readonly document?: DocumentState | null
  /** Default: nothing is logged. */
  readonly log?: Logger
  /** Called at every change of `status`. What it throws is logged. */
  readonly onStatus?: (status: HostStatus) => void
  readonly limits?: Partial<ClientLimits>
}

/** What tests put in the place of the system. */
export interface HostClientServices {
  readonly timer?: Timer
  /** Milliseconds that only go forward. */
  readonly clock?: Clock
  readonly random?: () => number
  readonly env?: NodeJS.ProcessEnv
}

/** A registered producer. After `remove()` its members do nothing. */
export interface ProducerHandle {
  /** The list is another one: the server gets it, and tells its clients. */
  listChanged(): void
  /** The contents under this URI changed: its subscribers are told. */
  updated(uri: string): void
  remove(): void
}

/** Every bound and pause of the client, with its default. Times in milliseconds. */
export interface ClientLimits {
  /** Audit records, and events, that wait for the server; beyond it the oldest is dropped. */
  maxQueued: number
  /** Bytes of JSON that wait so, per queue; beyond it the oldest is dropped. */
  maxQueuedBytes: number
  /** Bytes of JSON of one record or event: a larger one is a `TypeError`. */
  maxItemBytes: number
  /** Event buffers open at once, as many as the server keeps. */
  maxEventBuffers: number
  /** URIs reported as updated and not told to the server yet; beyond it the oldest is dropped. */
  maxPendingUpdates: number
  /** Uploads that wait for the one under way; further ones are refused. */
  maxUploads: number
  /** Bytes of one binary frame of an upload. */
  uploadFrameBytes: number
  /** Bytes written to the socket and not sent yet before the next message waits. */
  highWaterBytes: number
  /** The handshake and the welcome must come within this. */
  openTimeoutMs: number
  /** An answer must come within this, else the message counts as not taken. */
  answerTimeoutMs: number
  /** A producer's `list` must come to its end within this, else nothing of it is listed. */
  listTimeoutMs: number
  /** The answer to an upload, counted from its last byte: the server writes and checks it. */
  uploadAnswerTimeoutMs: number
  /** What the server could not take now (`limit`, `busy`) is sent again after this. */
  resendMs: number
  /** Times that one batch is sent before it is dropped. */
  maxAttempts: number
  /** Nothing arrived for so long: the server is gone. */
  silenceMs: number
  /** A link that lasted for so long makes the pauses between attempts start anew. */
  stableMs: number
  /** `stop` waits so long for what is queued, and again for the server to close. */
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
