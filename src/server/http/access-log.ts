import type { ServerResponse } from 'node:http'
import type { AccessEntry, Logger } from '../../lib/util/logger.ts'

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
  { accessLog }: { accessLog: AccessLog },
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
