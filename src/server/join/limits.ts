import type { HttpLimits } from '../http/limits.ts'

/** Bounds of the link from an instance to a gateway, which tests shrink. */
export const joinDefaults = {
  /** Each end pings the other this often. */
  joinPingMs: 10_000,
  /** An end from which nothing came for this long is cut. */
  joinSilenceMs: 25_000,
  /** Bytes of one answer on their way to a reader who does not take them. */
  joinWindowBytes: 256 * 1024,
  /** Links that a gateway accepts. */
  maxJoinLinks: 2000,
  /** Links of one user, and instances that are joined or lately were. */
  maxJoinsPerUser: 50,
}

export type JoinLimits = HttpLimits & typeof joinDefaults
