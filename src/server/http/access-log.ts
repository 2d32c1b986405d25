import type { ServerResponse } from 'node:http'
import type { AccessEntry, Logger } from '../../lib/util/logger.ts'
import type { Clock } from '../../lib/util/time.ts'

/** Runs once per request: a log of its own, because it is on the path of every answer. */
export type AccessLog = (entry: AccessEntry) => void

/** The access log of a host that has only an ordinary log. */
export function accessLogOn(log: Logger): AccessLog {
  return ({ method, path, rpc, uri, status, durationMs, principal, peer }) =>
    log.info(
      { method, path, rpc, uri, status, duration_ms: durationMs, principal, peer },
      'request',
    )
}

/**
 * Writes one entry when the answer has left or the connection is cut. `facts` is called then; null
 * when the request is not logged.
 */
export function logWhenClosed(
  { accessLog }: { readonly accessLog: AccessLog },
  res: ServerResponse,
  facts: () => Omit<AccessEntry, 'method' | 'status' | 'durationMs'> | null,
): void {
  const startedMs = performance.now()
  res.on('close', () => {
    const known = facts()
    if (known === null) return
    accessLog({
      method: res.req.method ?? '',
      // Cut before any answer: the status that Node has ready was never sent.
      status: res.headersSent ? res.statusCode : null,
      durationMs: Math.round((performance.now() - startedMs) * 100) / 100,
      ...known,
    })
  })
}

const maxLoggedChars = 200

/** A text of the client, cut so that one request cannot fill the log. */
export function shortened(text: string): string {
  return text.length > maxLoggedChars ? `${text.slice(0, maxLoggedChars)}…` : text
}

export interface RefusedRequest {
  readonly status: number
  /** Short and stable: `host_not_allowed`, `invalid_token`. */
  readonly reason: string
  /** Address of the client. */
  readonly peer: string
  /** Who it is, when that is known. */
  readonly principal?: string | undefined
}

const maxPeers = 1000

/**
 * Records at most one refusal a second for each principal, else for each peer: a flood of bad
 * requests cannot push out what the application reported.
 */
export function createRefusalLog(
  clock: Clock,
  record: (refused: RefusedRequest) => void,
): (refused: RefusedRequest) => void {
  const lastMs = new Map<string, number>()
  return refused => {
    const now = clock.now()
    // No address has a space in it.
    const who = refused.principal === undefined ? refused.peer : `as ${refused.principal}`
    const last = lastMs.get(who)
    // A clock that was set back must not hide what comes from now on.
    if (last !== undefined && Math.abs(now - last) < 1000) return
    if (lastMs.size >= maxPeers) lastMs.clear()
    lastMs.set(who, now)
    record(refused)
  }
}
