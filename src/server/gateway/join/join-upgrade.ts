import { maxJoinMessageBytes } from '../../join/link-socket.ts'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { bearerToken } from '../../../lib/auth/validate-bearer-token.ts'
import { fail } from '../../../lib/util/result.ts'
import { challenge } from '../../http/authentication.ts'
import { makeProblem } from '../../http/problem.ts'
import { createHandshake, refuseUpgrade, type Upgrade } from '../../http/upgrade.ts'
import { joinProtocol } from '../../join/wire.ts'
import type { JoinPrincipal, JoinTokens } from './join-tokens.ts'

interface JoinUpgradeParts {
  readonly tokens: Pick<JoinTokens, 'check'>
  /** Why no further link of the principal is accepted, as a clause; null when it is. */
  readonly whyFull: (principal: JoinPrincipal) => string | null
  /** Called in the event in which the WebSocket opens. */
  readonly accept: (ws: WebSocket, socket: Socket, token: string, principal: JoinPrincipal) => void
  readonly onRefused: (refused: { status: 401 | 403; reason: string; peer: string }) => void
}

/** Answers an upgrade request with a problem, and closes the connection. */
function refuse(
  req: IncomingMessage,
  status: 401 | 403 | 503,
  detail: string,
  headers: Record<string, string> = {},
): void {
  const codes = { 401: 'token-invalid', 403: 'request-refused', 503: 'overloaded' }
  refuseUpgrade(req, makeProblem(status, codes[status], detail), headers)
}

/** Creates the handler of requests that ask to open a link. */
export function createJoinUpgrade(parts: JoinUpgradeParts): Upgrade {
  const handshake = createHandshake(joinProtocol, maxJoinMessageBytes)

  async function upgrade(
    req: IncomingMessage,
    socket: Socket,
    head: Buffer,
    peer: string,
  ): Promise<void> {
    const { origin, authorization } = req.headers
    if (origin !== undefined) {
      parts.onRefused({ status: 403, reason: 'origin_not_allowed', peer })
      return refuse(req, 403, 'web pages cannot join')
    }
    const token = bearerToken(authorization)
    const checked =
      token === null
        ? fail({ kind: 'invalid', reason: 'a token is required' } as const)
        : await parts.tokens.check(token)
    if (!checked.ok) {
      const { kind, reason } = checked.failure
      if (kind === 'unavailable') return refuse(req, 503, reason, { 'Retry-After': '5' })
      const status = kind === 'insufficient' ? 403 : 401
      const error = kind === 'insufficient' ? 'insufficient_scope' : 'invalid_token'
      parts.onRefused({ status, reason: error, peer })
      const description = 'a service token of the scope "instance" is required'
      const refusal = { ok: false, status, error, description } as const
      return refuse(req, status, reason, { 'WWW-Authenticate': challenge(refusal) })
    }
    const full = parts.whyFull(checked.value)
    if (full !== null) return refuse(req, 503, full, { 'Retry-After': '60' })
    if (socket.destroyed) return
    handshake(req, socket, head, ws => {
      parts.accept(ws, socket, token ?? '', checked.value)
    })
  }

  return (req, socket, head, peer) => {
    upgrade(req, socket, head, peer).catch(() => socket.destroy())
  }
}
