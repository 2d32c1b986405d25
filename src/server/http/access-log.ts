import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AccessEntry, InstanceAccess, Logger } from '../../lib/util/logger.ts'
import { hideTokens, withoutSecrets } from '../../lib/util/secret.ts'
import type { RequestContext } from './request-context.ts'

/** Runs once per request: a log of its own, because it is on the path of every answer. */
export type AccessLog = (entry: AccessEntry) => void

/** The access log of a program that may be a gateway. */
export type GatewayAccessLog = (entry: AccessEntry | InstanceAccess) => void

/** The access log of a host that has only an ordinary log. */
export function accessLogOn(log: Logger): AccessLog {
  return ({ durationMs, route: _, own: __, ...entry }) =>
    log.info({ ...entry, duration_ms: durationMs }, 'request')
}

/** Writes one entry when the answer has left or the connection is cut. */
export function logWhenClosed(
  accessLog: AccessLog,
  req: IncomingMessage,
  res: ServerResponse,
  context: RequestContext,
): void {
  const startedMs = performance.now()
  res.on('close', () => {
    for (const end of context.onClose) end()
    const { path, route, rpc, uri, principal, peer } = context
    accessLog({
      method: req.method ?? '',
      // A path may hold a token by mistake.
      path: shortened(hideTokens(path)),
      route,
      rpc: rpc === undefined ? undefined : shortened(rpc),
      uri: typeof uri === 'string' ? shortened(withoutSecrets(uri)) : undefined,
      // Cut before any answer: the status that Node has ready was never sent.
      status: res.headersSent ? res.statusCode : null,
      durationMs: Math.round((performance.now() - startedMs) * 100) / 100,
      principal: principal === '' ? undefined : principal,
      peer,
      own: req.headers['user-agent']?.startsWith('service-cli/') === true ? true : undefined,
    })
  })
}

const maxLoggedChars = 200

/** A text of the client, cut so that one request cannot fill the log. */
export function shortened(text: string): string {
  return text.length > maxLoggedChars ? `${text.slice(0, maxLoggedChars)}…` : text
}
