import { maxTimerMs, resolveBounds } from '../util/bounds.ts'
import { type ArtefactLimits, defaultArtefactLimits } from './artefact-limits.ts'
import { defaultLiveLinkLimits, type LiveLinkLimits } from './host-link-limits.ts'

/** Every bound of the server; a test holds them against `docs/limits.md`, which has a row for each. */
export interface Limits extends LiveLinkLimits, ArtefactLimits {
  /** Bytes of one scene, or of one audit or events post. */
  maxMessageBytes: number
  /** Bytes of one POST /mcp body. */
  maxRequestBytes: number
  /** Arrays and objects inside each other, in anything parsed. */
  maxJsonDepth: number
  /** Characters of a resource URI. */
  maxUriChars: number
  /** Messages in one JSON-RPC batch. */
  maxBatchMessages: number
  /** Resources on one page of a listing. */
  pageSize: number
  /** Icons of one entry of a listing, and sizes of one icon. */
  maxIcons: number

  /** Live sessions; beyond it the longest idle one without a stream goes. */
  maxSessions: number
  /** A session without request and without stream ends after this. */
  sessionIdleMs: number
  /** Reads of one session that its client can cancel at the same time; others run to their end. */
  maxCancellableReads: number
  /** Streams of `subscriptions/listen` open at once; further ones are refused. */
  maxListenStreams: number
  /** Characters of the id of a `subscriptions/listen`, which is in every message of its stream. */
  maxListenIdChars: number
  /** URIs one session, or one listen stream, may subscribe to. */
  maxSubscriptionsPerSession: number
  /** Subscriptions of all sessions and listen streams together. */
  maxSubscriptions: number

  /** Bytes of answers, shared ones counted once, that their clients have not taken yet. */
  maxHeldAnswerBytes: number
  /** Bytes waiting on one event stream before its updates are dropped. */
  maxStreamBufferBytes: number
  /** A comment line keeps an idle event stream open. */
  streamKeepAliveMs: number
  /** A stream whose reader took nothing for this long is closed. */
  streamStallMs: number
  /** `list_changed` at most once in this time. */
  listChangedIntervalMs: number

  /** Clients are told that `server/discover` stays true for so long. */
  discoverFreshMs: number
  /** Clients are told that the contents of an artefact stay true for so long. */
  artefactFreshMs: number

  /** Connections open at once; further ones are closed at once. */
  maxConnections: number
  /** Bytes of a request's header block. */
  maxHeaderBytes: number
  /** The header block must be complete after this. */
  headersTimeoutMs: number
  /** A body must make progress within this time. */
  bodyTimeoutMs: number
  /** A body that is read whole must be complete after this. */
  maxBodyMs: number
  /** The rest of a refused body is read and thrown away for so long before the connection is cut. */
  refusedBodyDrainMs: number
  /** Idle keep-alive connections are closed after this. */
  keepAliveTimeoutMs: number
  /** The handshake of TLS must be done after this. */
  tlsHandshakeMs: number
  /** The files of certificate and key are looked at this often. */
  tlsPollMs: number
  /** Bytes of the file of the certificate, and of that of the key. */
  maxTlsFileBytes: number
  /** After a stop signal, connections still open are cut after this. */
  stopGraceMs: number

  /** Scene revisions kept for `scene://delta`. */
  maxSceneRevisions: number
  /** Bytes of scene revisions kept for `scene://delta`. */
  maxSceneRevisionBytes: number
  /** Changes listed in one delta. */
  maxSceneChanges: number
  /** Entries of `audit://recent` when the reader names no `limit`. */
  defaultAuditLimit: number
  /** Entries of `audit://recent` at most: a greater `limit` counts as this. */
  maxAuditLimit: number
  /** Bytes of the `params` of one audit entry. */
  maxAuditParamsBytes: number
  /** Bytes of each text of an audit entry: action, actor, session id, reason. */
  maxAuditTextBytes: number
  /** Buffers that posts to /host/v1/events may create. */
  maxEventBuffers: number
  /** Artefacts that the application may be sending at the same time; further ones are refused. */
  maxUploads: number
  /** Audit records, or events, in one post of the application. */
  maxHostBatch: number
  /** Characters of a name or an id that the application sends; longer ones are refused. */
  maxFieldChars: number

  /** The instance record is touched this often. */
  heartbeatMs: number
  /** Changes of the scene file within this time are read once. */
  sceneFileDebounceMs: number
  /** The scene file is looked at this often, where change events do not arrive. */
  sceneFilePollMs: number
  /** Events of one page of `events://` when the reader names no `limit`. */
  defaultEventLimit: number
  /** Events of one page at most: a greater `limit` counts as this. */
  maxEventLimit: number
  /** Bytes of the `metadata` of one session event. */
  maxEventMetadataBytes: number
  /** Bytes of each text of a session event beside its message: source, stream, ids. */
  maxEventTextBytes: number

  /** A custom producer must answer within this time. */
  producerTimeoutMs: number
  /** Reads of one custom producer waiting at once, and as many completions; further ones fail. */
  maxPendingReads: number
  /** URIs whose parsed form is kept for the next request. */
  maxParsedUris: number
  /** Answers kept for repeated reads and listings, per resource kind. */
  maxKeptAnswers: number
  /** Bytes of the answers so kept, per resource kind. */
  maxKeptAnswerBytes: number

  /** A database that another process keeps locked is waited for so long. */
  maxStoreWaitMs: number
  /** The signing keys of the registry are rotated this often. */
  keyRotationMs: number
  /** The registry looks for keys rotated by another process this often. */
  keyPollMs: number
}

const KiB = 1024
const MiB = 1024 * KiB

/** Sizes in bytes, times in milliseconds; frozen. */
export const defaultLimits: Readonly<Limits> = Object.freeze({
  maxMessageBytes: 8 * MiB,
  maxRequestBytes: 1 * MiB,
  maxJsonDepth: 64,
  maxUriChars: 2048,
  maxBatchMessages: 100,
  pageSize: 500,
  maxIcons: 8,

  maxSessions: 10_000,
  sessionIdleMs: 60 * 60 * 1000,
  maxCancellableReads: 100,
  maxListenStreams: 10_000,
  maxListenIdChars: 256,
  maxSubscriptionsPerSession: 1000,
  maxSubscriptions: 200_000,

  maxHeldAnswerBytes: 512 * MiB,
  maxStreamBufferBytes: 64 * KiB,
  streamKeepAliveMs: 15_000,
  streamStallMs: 120_000,
  listChangedIntervalMs: 1000,

  discoverFreshMs: 10_000,
  artefactFreshMs: 5 * 60 * 1000,

  maxConnections: 16_384,
  maxHeaderBytes: 16 * KiB,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  maxBodyMs: 120_000,
  refusedBodyDrainMs: 2000,
  keepAliveTimeoutMs: 30_000,
  tlsHandshakeMs: 10_000,
  tlsPollMs: 1000,
  maxTlsFileBytes: 1 * MiB,
  stopGraceMs: 3000,

  maxSceneRevisions: 16,
  maxSceneRevisionBytes: 32 * MiB,
  maxSceneChanges: 1000,
  defaultAuditLimit: 50,
  maxAuditLimit: 500,
  maxAuditParamsBytes: 4 * KiB,
  maxAuditTextBytes: 1 * KiB,
  maxEventBuffers: 100,
  maxUploads: 16,
  maxHostBatch: 100,
  maxFieldChars: 255,

  ...defaultLiveLinkLimits,

  heartbeatMs: 5000,
  sceneFileDebounceMs: 50,
  sceneFilePollMs: 2000,
  defaultEventLimit: 100,
  maxEventLimit: 1000,
  maxEventMetadataBytes: 4 * KiB,
  maxEventTextBytes: 256,

  producerTimeoutMs: 2000,
  maxPendingReads: 1000,
  maxParsedUris: 256,
  maxKeptAnswers: 16,
  maxKeptAnswerBytes: 16 * MiB,

  ...defaultArtefactLimits,

  maxStoreWaitMs: 5000,
  keyRotationMs: 90 * 24 * 60 * 60 * 1000,
  keyPollMs: 1000,
})

/** Times that are compared or told, not waited for. */
const comparedTimes: readonly string[] = [
  'discoverFreshMs',
  'artefactFreshMs',
  'sessionIdleMs',
  'artefactTtlMs',
  'maxBodyMs',
  'maxStoreWaitMs',
  'keyRotationMs',
]

/**
 * The defaults with the given ones in their place; undefined counts as not given. Throws
 * `TypeError` for an unknown name, and for a value that is no whole number of its range:
 * 0 and up, `pageSize` 1 and up, times that a timer waits for at most 2147483647 ms.
 */
export function resolveLimits(overrides: Partial<Limits> = {}): Limits {
  return resolveBounds(defaultLimits, overrides, name => {
    const waits = name.endsWith('Ms') && !comparedTimes.includes(name)
    return [name === 'pageSize' ? 1 : 0, waits ? maxTimerMs : Number.MAX_SAFE_INTEGER]
  })
}
