import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { makeProblem } from './problem.ts'
import { refuseUpgrade } from './refused-upgrade.ts'
import { parseTarget } from './request-target.ts'

interface HandshakeParts {
  /** What is opened, for messages: "the host link". */
  readonly link: string
  readonly protocol: string
  readonly maxMessageBytes: number
  /** How long the other side may take to close. Default: that of `ws`. */
  readonly closeMs?: number
}

interface Handshake {
  /** Refuses a request for another protocol or version. Returns whether it did. */
  refuses(req: IncomingMessage, socket: Socket): boolean
  open(req: IncomingMessage, socket: Socket, head: Buffer, opened: (ws: WebSocket) => void): void
}

/** Whether the request asks for a WebSocket at `path`. */
export function wantsWebSocket(req: IncomingMessage, path: string): boolean {
  const isWanted = req.headers.upgrade?.toLowerCase() === 'websocket'
  return isWanted && parseTarget(req.url ?? '')?.path === path
}

/** The handshake of a link. A refused client gets an answer and a closed connection. */
export function createHandshake(parts: HandshakeParts): Handshake {
  const { link, protocol, maxMessageBytes, closeMs } = parts
  // Known to the library, not to its types.
  const untyped = closeMs === undefined ? {} : { closeTimeout: closeMs }
  const server = new WebSocketServer({
    ...untyped,
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    handleProtocols: () => protocol,
  })
  const refuse = (socket: Socket, detail: string, headers?: Record<string, string>) =>
    refuseUpgrade(socket, makeProblem(400, 'body-invalid', detail), headers)
  server.on('wsClientError', (error, socket) => {
    refuse(socket as Socket, `no WebSocket handshake: ${error.message}`)
  })
  return {
    refuses(req, socket) {
      const { 'sec-websocket-protocol': offered = '', 'sec-websocket-version': version } =
        req.headers
      if (!offered.split(',').some(one => one.trim() === protocol)) {
        refuse(socket, `${link} needs "Sec-WebSocket-Protocol: ${protocol}"`)
        return true
      }
      if (version === '13') return false
      // The library would take an older draft as well.
      const detail = `no WebSocket handshake: ${link} needs "Sec-WebSocket-Version: 13"`
      refuse(socket, detail, { 'Sec-WebSocket-Version': '13' })
      return true
    },
    open: (req, socket, head, opened) => server.handleUpgrade(req, socket, head, opened),
  }
}
