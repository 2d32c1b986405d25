import { maxTimerMs, resolveBounds } from '../lib/bounds.ts'

/** Every bound of the server; a test holds them against `docs/limits.md`, which has a row for each. */
export interface Limits {
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

  /** Events that a buffer opened over the link may retain. */
  maxEventBufferEvents: number
  /** Bytes of JSON that a buffer of the application may retain. */
  maxEventBufferBytes: number
  /** Bytes of one message in a buffer opened over the link. */
  maxEventMessageBytes: number
  /** Links open at once, most of them still to say hello; further ones are refused. */
  maxLinks: number
  /** A link must say hello within this time. */
  linkHelloMs: number
  /** The application is told to send a heartbeat this often. */
  linkHeartbeatMs: number
  /** The server pings the application this often. */
  linkPingMs: number
  /** A link on which nothing arrived for so long is cut. */
  linkSilenceMs: number
  /** The main thread of the application counts as busy when it is away for longer. */
  linkBusyMs: number
  /** Producers of a lost link stay listed for so long. */
  linkGraceMs: number
  /** Bytes of answers and questions that the application has not taken before its link is closed. */
  maxLinkBacklogBytes: number
  /** URI schemes that the application may offer. */
  maxLinkSchemes: number
  /** Resources, and templates, that the application may list for one scheme. */
  maxLinkResources: number
  /** Questions to the application open at once; further reads fail at once. */
  maxLinkRequests: number
  /** The application must answer a read within this time. */
  linkReadMs: number
  /** The application must answer a list within this time. */
  linkListMs: number
  /** The application must bring a picture of itself within this time. */
  linkCaptureMs: number
  /** Objects of a scene beyond which the application is advised to truncate. */
  maxSceneObjects: number
  /** The greatest pause between two scenes that the application is asked for. */
  maxSceneIntervalMs: number

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

  /** Bytes of encoded blobs kept for repeated reads. */
  blobCacheBytes: number
  /** Blobs up to this size are verified once and kept encoded; larger ones are streamed. */
  maxCachedBlobBytes: number
  /** Bytes of one artefact; 0 = no bound. */
  maxArtefactBytes: number
  /** Bytes of all artefacts; the oldest go first; 0 = no bound. */
  maxArtefactTotalBytes: number
  /** Number of artefacts; the oldest go first; 0 = no bound. */
  maxArtefacts: number
  /** An artefact without an expiry of its own goes after this; 0 = never. */
  artefactTtlMs: number
  /** Bytes of an artefact's metadata as JSON. */
  maxArtefactMetadataBytes: number
  /** Bytes of sidecars behind one page of artefacts; a page of large ones is shorter. */
  maxArtefactPageBytes: number
  /** Bytes of damaged artefacts kept aside for inspection; the oldest go first; 0 = keep none. */
  maxArtefactQuarantineBytes: number
  /** Expired artefacts and leftovers are removed this often; 0 = only at start. */
  artefactSweepMs: number
  /** While somebody listens, changes by other processes are looked for this often; 0 = never. */
  artefactPollMs: number

  /** A database that another process keeps locked is waited for so long. */
  maxStoreWaitMs: number
  /** The signing keys of the registry are rotated this often. */
  keyRotationMs: number
  /** The registry looks for keys rotated by another process this often. */
  keyPollMs: number
}

const KiB = 1024
const MiB = 1024 * KiB
const GiB = 1024 * MiB

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

  maxEventBufferEvents: 10_000,
  maxEventBufferBytes: 8 * MiB,
  maxEventMessageBytes: 64 * KiB,
  maxLinks: 16,
  linkHelloMs: 5000,
  linkHeartbeatMs: 5000,
  linkPingMs: 10_000,
  linkSilenceMs: 30_000,
  linkBusyMs: 2000,
  linkGraceMs: 60_000,
  maxLinkBacklogBytes: 8 * MiB,
  maxLinkSchemes: 16,
  maxLinkResources: 2000,
  maxLinkRequests: 8,
  linkReadMs: 5000,
  linkListMs: 2000,
  linkCaptureMs: 8000,
  maxSceneObjects: 2000,
  maxSceneIntervalMs: 1000,

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

  blobCacheBytes: 64 * MiB,
  maxCachedBlobBytes: 8 * MiB,
  maxArtefactBytes: 16 * GiB,
  maxArtefactTotalBytes: 64 * GiB,
  maxArtefacts: 100_000,
  artefactTtlMs: 30 * 24 * 60 * 60 * 1000,
  maxArtefactMetadataBytes: 64 * KiB,
  maxArtefactPageBytes: 1 * MiB,
  maxArtefactQuarantineBytes: 1 * GiB,
  artefactSweepMs: 60_000,
  artefactPollMs: 1000,

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
