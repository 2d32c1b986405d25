import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { makeProblem } from './problem.ts'
import { refuseUpgrade } from './upgrade.ts'

interface HandshakeParts {
  /** What is opened, for messages: "the host link". */
  link: string
  protocol: string
  maxMessageBytes: number
}

/** Returns the handshake of a link. It refuses a client that asks for another protocol. */
export function createHandshake({ link, protocol, maxMessageBytes }: HandshakeParts) {
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
    const detail = `${link} needs "Sec-WebSocket-Protocol: ${protocol}"`
    refuseUpgrade(socket, makeProblem(400, 'body-invalid', detail))
  }
}
