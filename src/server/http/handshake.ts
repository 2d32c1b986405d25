import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { makeProblem, type Problem, writeProblem } from './problem.ts'

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

/** Answers a request that asked to leave HTTP, and closes the connection. */
export function refuseUpgrade(
  req: IncomingMessage,
  problem: Problem,
  headers?: Record<string, string>,
): void {
  const res = new ServerResponse(req)
  res.assignSocket(req.socket)
  // A client that does not close its side would keep the socket.
  res.on('finish', () => req.socket.destroySoon())
  writeProblem(res, problem, { Connection: 'close', ...headers })
}
