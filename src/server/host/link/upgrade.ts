import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { ServiceError } from '../../../lib/util/errors.ts'
import { subprotocol } from '../../../lib/host-link/wire.ts'
import type { Secret } from '../../../lib/util/secret.ts'
import { makeProblem, toProblem } from '../../http/problem.ts'
import { refuseUpgrade } from '../../http/refused-upgrade.ts'
import { parseTarget } from '../../http/request-target.ts'
import type { PeerOf } from '../../http/trusted-proxies.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import { checkStranger } from '../guards.ts'
import type { HostRefused } from '../routes.ts'

interface LinkUpgradeDeps {
  readonly token: Secret
  readonly limits: Pick<Limits, 'maxMessageBytes' | 'maxLinks' | 'stopGraceMs'>
  openLinks(): number
  accept(ws: WebSocket, socket: Socket): void
  readonly peerOf: PeerOf
  onRefused(refused: HostRefused): void
}

type LinkUpgrade = (req: IncomingMessage, socket: Socket, head: Buffer) => void

/** Whether the request upgrades to the host link. Other upgrades are answered as plain requests. */
export function wantsLink(req: IncomingMessage): boolean {
  const upgrade = req.headers.upgrade?.toLowerCase()
  return upgrade === 'websocket' && parseTarget(req.url ?? '')?.path === '/host'
}

/** The handshake of the host link. A refused client gets an answer and a closed connection. */
export function createLinkUpgrade(deps: LinkUpgradeDeps): LinkUpgrade {
  const { limits } = deps
  // Known to the library, not to its types.
  const untyped = { closeTimeout: limits.stopGraceMs }
  const server = new WebSocketServer({
    ...untyped,
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: limits.maxMessageBytes,
    handleProtocols: () => subprotocol,
  })
  // Our checks come first; these are about the handshake itself.
  server.on('wsClientError', (error, socket) => {
    const detail = `no WebSocket handshake: ${error.message}`
    refuseUpgrade(socket as Socket, makeProblem(400, 'body-invalid', detail))
  })
  return (req, socket, head) => {
    // Until the library takes over the socket, errors without a listener would end the process.
    const dropped = () => socket.destroy()
    socket.on('error', dropped)
    const stranger = checkStranger(req, deps.token)
    if (stranger !== null) {
      const problem = toProblem(stranger.error)
      const { status } = problem
      deps.onRefused({ status, reason: stranger.reason, peer: deps.peerOf(req) })
      return refuseUpgrade(socket, problem, stranger.headers)
    }
    const offered = (req.headers['sec-websocket-protocol'] ?? '').split(',').map(one => one.trim())
    if (!offered.includes(subprotocol)) {
      const detail = `the host link needs "Sec-WebSocket-Protocol: ${subprotocol}"`
      return refuseUpgrade(socket, makeProblem(400, 'body-invalid', detail))
    }
    // The library would take an older draft as well.
    if (req.headers['sec-websocket-version'] !== '13') {
      const detail = 'no WebSocket handshake: the host link needs "Sec-WebSocket-Version: 13"'
      const problem = makeProblem(400, 'body-invalid', detail)
      return refuseUpgrade(socket, problem, { 'Sec-WebSocket-Version': '13' })
    }
    if (deps.openLinks() >= limits.maxLinks) {
      const detail = `${limits.maxLinks} links are open already`
      const busy = toProblem(new ServiceError('limit_reached', detail))
      return refuseUpgrade(socket, busy, { 'Retry-After': '10' })
    }
    server.handleUpgrade(req, socket, head, ws => {
      socket.off('error', dropped)
      deps.accept(ws, socket)
    })
  }
}
