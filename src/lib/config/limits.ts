import { maxTimerMs, resolveBounds } from '../util/members.ts'
import { type ArtefactLimits, defaultArtefactLimits } from './artefact-limits.ts'
import { defaultHostLinkLimits, type HostLinkLimits } from './host-link-limits.ts'
import { defaultJoinLimits, type JoinLimits } from './join-limits.ts'

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

/**
 * The bounds an operator may move, by `--limit` or the `limits` of the library.
 * `docs/limits.md` has one row for each; a test compares them.
 */
export interface PublicLimits {
  /** Bytes of one POST /mcp body. */
  maxRequestBytes: number
  /** Bytes of one scene, of one message of the host link, or of one post of the application. */
  maxMessageBytes: number
  /** A body must make progress within this time. */
  bodyTimeoutMs: number
  /** Live sessions; beyond it the longest idle one without a stream goes. */
  maxSessions: number
  /** A session without request and without stream ends after this. */
  sessionIdleMs: number
  /** Streams of `subscriptions/listen` open at once; further ones are refused. */
  maxListenStreams: number
  /** Subscriptions of all sessions and listen streams together. */
  maxSubscriptions: number
  /** A comment line keeps an idle event stream open. */
  streamKeepAliveMs: number
  /** A stream whose reader took nothing for this long is closed. */
  streamStallMs: number
  /** Resources on one page of a listing. */
  pageSize: number
  /** A custom producer must answer within this time. */
  producerTimeoutMs: number
  /** The application must answer a read within this time. */
  linkReadMs: number
  /** Bytes of the `params` of one audit entry. */
  maxAuditParamsBytes: number
  /** Bytes of JSON that a buffer of the application may retain. */
  maxEventBufferBytes: number
  /** Audit records, or events, in one post of the application. */
  maxHostBatch: number
  /** Artefacts that the application may be sending at the same time; further ones are refused. */
  maxUploads: number
  /** Bytes of one artefact; 0 = no bound. */
  maxArtefactBytes: number
  /** Bytes of all artefacts; the oldest go first; 0 = no bound. */
  maxArtefactTotalBytes: number
  /** Number of artefacts; the oldest go first; 0 = no bound. */
  maxArtefacts: number
  /** The default lifetime of an artefact; 0 = no limit. */
  artefactTtlMs: number
  /** Bytes of a picture before base64; a larger one is scaled down until it fits. */
  maxCaptureBytes: number
  /** Pixels of the width of a picture; a wider window is scaled down. */
  maxCaptureWidth: number
  /** One way to a picture must give it within this time; then the next one is tried. */
  captureMs: number
  /** Requests of one address with wrong credentials in `authFailureWindowMs`; further ones: 429. */
  maxAuthFailures: number
  /** An instance without heartbeat for so long is stale. */
  instanceStaleMs: number
  /** After a stop signal, connections still open are cut after this. */
  stopGraceMs: number
}

/** Sizes in bytes, times in milliseconds; frozen. */
export const defaultPublicLimits: Readonly<PublicLimits> = Object.freeze({
  maxRequestBytes: 1 * MiB,
  maxMessageBytes: 64 * MiB,
  bodyTimeoutMs: 30_000,
  maxSessions: 10_000,
  sessionIdleMs: 60 * 60 * 1000,
  maxListenStreams: 10_000,
  maxSubscriptions: 200_000,
  streamKeepAliveMs: 15_000,
  streamStallMs: 120_000,
  pageSize: 500,
  producerTimeoutMs: 2000,
  linkReadMs: 5000,
  maxAuditParamsBytes: 4 * KiB,
  maxEventBufferBytes: 8 * MiB,
  maxHostBatch: 100,
  maxUploads: 16,
  maxArtefactBytes: 16 * GiB,
  maxArtefactTotalBytes: 64 * GiB,
  maxArtefacts: 100_000,
  artefactTtlMs: 30 * 24 * 60 * 60 * 1000,
  // 4.9 MB as base64: clients take blobs of about 5 MB.
  maxCaptureBytes: 3584 * KiB,
  maxCaptureWidth: 8192,
  captureMs: 10_000,
  maxAuthFailures: 100,
  instanceStaleMs: 30_000,
  stopGraceMs: 3000,
})

/** Times that are compared with a clock; no timer waits for them. */
const comparedTimes: readonly string[] = ['sessionIdleMs', 'artefactTtlMs']
/** Bounds that mean nothing at 0. */
const positive: readonly string[] = ['pageSize', 'maxCaptureBytes', 'maxCaptureWidth', 'captureMs']

/**
 * Returns the given limits without undefined ones. Throws `TypeError` for an unknown name and for
 * a value that is not a whole number of its range (`docs/limits.md`).
 */
export function checkLimits(overrides: Partial<PublicLimits> = {}): Partial<PublicLimits> {
  const checked = resolveBounds(defaultPublicLimits, overrides, name => {
    const waits = name.endsWith('Ms') && !comparedTimes.includes(name)
    return [positive.includes(name) ? 1 : 0, waits ? maxTimerMs : Number.MAX_SAFE_INTEGER]
  })
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name]) => [name, checked[name as keyof PublicLimits]]))
}

/** Every bound of the server: the public ones, and constants that only tests replace. */
export interface Limits extends PublicLimits, HostLinkLimits, JoinLimits, ArtefactLimits {
  /** Arrays and objects inside each other, in anything parsed. */
  maxJsonDepth: number
  /** Characters of a resource URI. */
  maxUriChars: number
  /** Messages in one JSON-RPC batch. */
  maxBatchMessages: number
  /** Icons of one entry of a listing, and sizes of one icon. */
  maxIcons: number

  /** Reads of one session that its client can cancel at the same time; others run to their end. */
  maxCancellableReads: number
  /** Characters of the id of a `subscriptions/listen`, which is in every message of its stream. */
  maxListenIdChars: number
  /** URIs one session, or one listen stream, may subscribe to. */
  maxSubscriptionsPerSession: number

  /** Bytes of answers, shared ones counted once, that their clients have not taken yet. */
  maxHeldAnswerBytes: number
  /** Bytes waiting on one event stream before its updates are dropped. */
  maxStreamBufferBytes: number
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
  /** A body that is read whole must be complete after this. */
  maxBodyMs: number
  /**
   * The rest of a refused body is read and thrown away for so long before the connection is cut.
   */
  refusedBodyDrainMs: number
  /** Idle keep-alive connections are closed after this. */
  keepAliveTimeoutMs: number
  /** The handshake of TLS must be done after this. */
  tlsHandshakeMs: number
  /** The files of certificate and key are looked at this often. */
  tlsPollMs: number
  /** Bytes of the file of the certificate, and of that of the key. */
  maxTlsFileBytes: number

  /** Calls of `wait_for_change` at once; each costs a subscription, a timer and a request. */
  maxWaits: number
  /** A waiting call that asked for progress is told of it this often. */
  waitProgressMs: number

  /** Past scenes are kept so long for `scene://delta`. */
  sceneRevisionMs: number
  /** Bytes of past scenes kept for `scene://delta`: whole texts, or what patches changed. */
  maxSceneRevisionBytes: number
  /** Objects of a scene that is patched. */
  maxPatchedObjects: number
  /** Changes listed in one delta. */
  maxSceneChanges: number
  /** Entries of `audit://recent` when the reader names no `limit`. */
  defaultAuditLimit: number
  /** Entries of `audit://recent` at most: a greater `limit` counts as this. */
  maxAuditLimit: number
  /** Bytes of each text of an audit entry: action, actor, session id, reason. */
  maxAuditTextBytes: number
  /** Buffers that posts to /host/v1/events may create. */
  maxEventBuffers: number
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
  /** The signing keys of the accounts server are rotated this often. */
  keyRotationMs: number
  /** The accounts server looks for keys rotated by another process this often. */
  keyPollMs: number
}

/** Sizes in bytes, times in milliseconds. */
export const defaultLimits: Readonly<Limits> = {
  ...defaultPublicLimits,
  maxJsonDepth: 64,
  maxUriChars: 2048,
  maxBatchMessages: 100,
  maxIcons: 8,

  maxCancellableReads: 100,
  maxListenIdChars: 256,
  maxSubscriptionsPerSession: 1000,

  maxHeldAnswerBytes: 512 * MiB,
  maxStreamBufferBytes: 64 * KiB,
  listChangedIntervalMs: 1000,

  discoverFreshMs: 10_000,
  artefactFreshMs: 5 * 60 * 1000,

  maxConnections: 16_384,
  maxHeaderBytes: 16 * KiB,
  headersTimeoutMs: 10_000,
  maxBodyMs: 120_000,
  refusedBodyDrainMs: 2000,
  keepAliveTimeoutMs: 30_000,
  tlsHandshakeMs: 10_000,
  tlsPollMs: 1000,
  maxTlsFileBytes: 1 * MiB,

  maxWaits: 2000,
  waitProgressMs: 10_000,

  sceneRevisionMs: 10 * 60_000,
  maxSceneRevisionBytes: 32 * MiB,
  maxPatchedObjects: 100_000,
  maxSceneChanges: 1000,
  defaultAuditLimit: 50,
  maxAuditLimit: 500,
  maxAuditTextBytes: 1 * KiB,
  maxEventBuffers: 100,
  maxFieldChars: 255,

  ...defaultHostLinkLimits,
  ...defaultJoinLimits,

  heartbeatMs: 5000,
  sceneFileDebounceMs: 50,
  sceneFilePollMs: 2000,
  defaultEventLimit: 100,
  maxEventLimit: 1000,
  maxEventMetadataBytes: 4 * KiB,
  maxEventTextBytes: 256,

  maxPendingReads: 1000,
  maxParsedUris: 256,
  maxKeptAnswers: 16,
  maxKeptAnswerBytes: 16 * MiB,

  ...defaultArtefactLimits,

  maxStoreWaitMs: 5000,
  keyRotationMs: 90 * 24 * 60 * 60 * 1000,
  keyPollMs: 1000,
}

/** The defaults with the given bounds in their place. Checked limits come from `checkLimits`. */
export function resolveLimits(bounds: Partial<Limits> = {}): Limits {
  return { ...defaultLimits, ...bounds }
}
