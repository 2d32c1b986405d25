import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Guard, pathOf, type Reach, RequestRefused } from './guard.ts'
import { type Problem, toProblem } from './problem.ts'
import type { RefusedRequest } from './refusal-log.ts'
import { createPeerOf } from './trusted-proxies.ts'

/** Opens a WebSocket, and owns the socket from then on. `peer`: the address of the client. */
export type Upgrade = (req: IncomingMessage, socket: Socket, head: Buffer, peer: string) => void

/** Requests that ask to leave HTTP. */
export interface Upgrades {
  /** Other requests are answered as plain ones. */
  wants(req: IncomingMessage): boolean
  handle(req: IncomingMessage, socket: Socket, head: Buffer): void
}

/** Whether the request asks for a WebSocket at `path`. */
export function isUpgradeTo(path: string, req: IncomingMessage): boolean {
  return req.headers.upgrade?.toLowerCase() === 'websocket' && pathOf(req) === path
}

/** Opens WebSockets at `path` to requests that the guard lets in. */
export function guardUpgrades(
  path: string,
  upgrade: Upgrade,
  reach: Reach,
  onRefused: (refused: RefusedRequest) => void,
): Upgrades {
  const guard = new Guard(reach)
  const peerOf = createPeerOf(reach.trustedProxies ?? [])
  return {
    wants: req => isUpgradeTo(path, req),
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
      upgrade(req, socket, head, peer)
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
