import type { AccessEntry } from '../../lib/util/access-entry.ts'
import type { Logger } from '../../lib/util/logger.ts'

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
