import type { Clock } from '../../lib/util/time.ts'

export interface RefusedRequest {
  readonly status: number
  /** Short and stable: `host_not_allowed`, `invalid_token`. */
  readonly reason: string
  /** Address of the client. */
  readonly peer: string
  /** The caller, when it is known. */
  readonly principal?: string
}

/** One entry of a caller in this time. */
const entryEveryMs = 1000
/** Callers that are remembered; at one more, all are forgotten. */
const maxCallers = 1000

/**
 * Records at most one refusal a second for each principal, or for each peer when the principal is
 * unknown. A flood of bad requests cannot push out what the application reported.
 */
export function createRefusalLog(
  clock: Clock,
  record: (refused: RefusedRequest) => void,
): (refused: RefusedRequest) => void {
  const lastMs = new Map<string, number>()
  return refused => {
    const now = clock.now()
    const who = refused.principal ?? refused.peer
    const last = lastMs.get(who)
    if (last !== undefined && now - last < entryEveryMs) return
    if (lastMs.size >= maxCallers) lastMs.clear()
    lastMs.set(who, now)
    record(refused)
  }
}
