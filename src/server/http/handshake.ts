import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { makeProblem } from './problem.ts'
import { refuseUpgrade } from './upgrade.ts'

// Apart from upgrade.ts: the types of the library may not need those of ws.

/** Returns the handshake of a link. It refuses a client that asks for another protocol. */
export function createHandshake(protocol: string, maxMessageBytes: number) {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    handleProtocols: () => protocol,
  })
  return (
    req: IncomingMessage,
    socket: Socket,
    head: Buffer,
    opened: (ws: WebSocket) => void,
  ): void => {
    const offered = (req.headers['sec-websocket-protocol'] ?? '').split(',')
    if (offered.some(one => one.trim() === protocol)) {
      return server.handleUpgrade(req, socket, head, opened)
    }
    const detail = `a link needs "Sec-WebSocket-Protocol: ${protocol}"`
    refuseUpgrade(req, makeProblem(400, 'body-invalid', detail))
  }
}
