/** The bounds of the link that an instance opens to a gateway; part of `Limits`. */
export interface JoinLimits {
  /** Each end pings the other this often. */
  joinPingMs: number
  /** An end from which nothing came for so long is cut off. */
  joinSilenceMs: number
  /** Bytes of one WebSocket message. */
  maxJoinMessageBytes: number
  /** Requests that one link carries at the same time. */
  maxJoinStreams: number
  /** Bytes of the headers of a request or an answer. */
  maxJoinHeaderBytes: number
  /** Bytes of one answer that are under way to a reader who does not take them. */
  joinWindowBytes: number
  /** Links that a gateway accepts. */
  maxJoinLinks: number
  /** Links of one user, and instances that are joined or lately were. */
  maxJoinsPerUser: number
  /** A new link must bring a valid record within this time. */
  joinRecordMs: number
  /** The token of a link is checked again this often. */
  joinTokenCheckMs: number
  /** An instance whose link is lost stays listed for so long. */
  joinLostMs: number
  /** Bytes that HTTP/2 holds for one link before it refuses further requests. */
  maxJoinMemoryBytes: number
}

const KiB = 1024
const MiB = 1024 * KiB

/** Sizes in bytes, times in milliseconds; frozen. */
export const defaultJoinLimits: Readonly<JoinLimits> = Object.freeze({
  joinPingMs: 10_000,
  joinSilenceMs: 25_000,
  // HTTP/2 writes frames of 16 KiB.
  maxJoinMessageBytes: 1 * MiB,
  // A gateway opens fewer: 120 reads and downloads, 512 calls, one event stream.
  maxJoinStreams: 1024,
  maxJoinHeaderBytes: 16 * KiB,
  joinWindowBytes: 256 * KiB,
  maxJoinMemoryBytes: 64 * MiB,
  maxJoinLinks: 2000,
  maxJoinsPerUser: 50,
  joinRecordMs: 10_000,
  // With the time of the check itself, a revoked token cuts its link within 5 s.
  joinTokenCheckMs: 3000,
  joinLostMs: 5 * 60_000,
})
