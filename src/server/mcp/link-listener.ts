import type { RequestListener } from 'node:http'
import { ok } from '../../lib/util/result.ts'
import type { AuthPolicy } from '../http/authentication.ts'
import { createCors } from '../http/cors.ts'
import { type AppParts, createHandlers } from './app.ts'

/** The gateway that the user named by `--join`. It may only read. */
const joinedGateway: AuthPolicy = {
  authenticate: () => ({ ok: true, principal: 'joined-gateway', mayWrite: false }),
}

/**
 * Answers the gateway that an instance joined, over the link between them: `/mcp` and `/artefacts/…`.
 * The link itself is the authentication.
 */
export function createLinkListener(app: AppParts): RequestListener {
  const { mcp, download, isReady, limits, log, accessLog, onRefused } = app
  return createHandlers({
    mcp,
    download,
    isReady,
    limits,
    log,
    accessLog,
    onRefused,
    auth: joinedGateway,
    guard: () => ok(null),
    cors: createCors([]),
    peerOf: () => 'joined-gateway',
  }).listener
}
