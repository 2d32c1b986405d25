import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { Guard, pathOf, type Reach, RequestRefused } from './guard.ts'
import { makeProblem, type Problem, toProblem } from './problem.ts'
import type { RefusedRequest } from './refusal-log.ts'
import { createPeerOf } from './trusted-proxies.ts'

/** Takes requests that leave HTTP for a WebSocket. */
export interface UpgradeEndpoint {
  wantsUpgrade(req: IncomingMessage): boolean
  /** Owns the socket from now on. `peer`: the address of the client. */
  upgrade(req: IncomingMessage, socket: Socket, head: Buffer, peer: string): void
}

/** Requests that ask to leave HTTP. */
export interface Upgrades {
  /** Other requests are answered as plain ones. */
  wants(req: IncomingMessage): boolean
  handle(req: IncomingMessage, socket: Socket, head: Buffer): void
}

/** Passes upgrades that the guard lets in to their endpoint. */
export function guardUpgrades(
  endpoint: UpgradeEndpoint,
  reach: Reach,
  onRefused: (refused: RefusedRequest) => void,
): Upgrades {
  const guard = new Guard(reach)
  const peerOf = createPeerOf(reach.trustedProxies ?? [])
  return {
    wants: req => endpoint.wantsUpgrade(req),
    handle(req, socket, head) {
      const peer = peerOf(req)
      try {
        guard.check(req)
      } catch (error) {
        const problem = toProblem(error)
        if (error instanceof RequestRefused && problem.status === 403) {
          onRefused({ status: 403, reason: error.reason, peer })
        }
        return refuseUpgrade(socket, problem)
      }
      endpoint.upgrade(req, socket, head, peer)
    },
  }
}

/** Answers where there is no response object, and closes the connection. */
export function refuseUpgrade(
  socket: Socket,
  problem: Problem,
  headers: Record<string, string> = {},
): void {
  const body = JSON.stringify(problem)
  const lines = Object.entries({
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const phrase = STATUS_CODES[problem.status] ?? ''
  // A client that does not close its side would keep the socket.
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${problem.status} ${phrase}\r\n${lines.join('')}\r\n${body}`)
}

/** Whether the request asks for a WebSocket at `path`. */
export function wantsWebSocket(req: IncomingMessage, path: string): boolean {
  return req.headers.upgrade?.toLowerCase() === 'websocket' && pathOf(req) === path
}

interface HandshakeParts {
  /** What is opened, for messages: "the host link". */
  link: string
  protocol: string
  maxMessageBytes: number
}

/** The handshake of a link. A refused client gets an answer and a closed connection. */
export class Handshake {
  readonly #parts: HandshakeParts
  readonly #server: WebSocketServer

  constructor(parts: HandshakeParts) {
    this.#parts = parts
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: parts.maxMessageBytes,
      handleProtocols: () => parts.protocol,
    })
  }

  /** Refuses a request for another protocol. Returns whether it did. */
  refuses(req: IncomingMessage, socket: Socket): boolean {
    const { link, protocol } = this.#parts
    const offered = (req.headers['sec-websocket-protocol'] ?? '').split(',')
    if (offered.some(one => one.trim() === protocol)) return false
    const detail = `${link} needs "Sec-WebSocket-Protocol: ${protocol}"`
    refuseUpgrade(socket, makeProblem(400, 'body-invalid', detail))
    return true
  }

  open(req: IncomingMessage, socket: Socket, head: Buffer, opened: (ws: WebSocket) => void): void {
    this.#server.handleUpgrade(req, socket, head, opened)
  }
}
