import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Guard, pathOf, type Reach } from './guard.ts'
import { type Problem, writeProblem } from './problem.ts'
import { createPeerOf } from './trusted-proxies.ts'

/** Opens a WebSocket, and owns the socket from then on. `peer`: the address of the client. */
export type Upgrade = (req: IncomingMessage, socket: Socket, head: Buffer, peer: string) => void

/** Requests that ask to leave HTTP. */
export interface Upgrades {
  /** Other requests are answered as plain ones. */
  wants(req: IncomingMessage): boolean
  handle(req: IncomingMessage, socket: Socket, head: Buffer): void
}

/** Opens WebSockets at `path`. A request that the guard refuses is refused as a plain one. */
export function guardUpgrades(path: string, upgrade: Upgrade, reach: Reach): Upgrades {
  const guard = new Guard(reach)
  const peerOf = createPeerOf(reach.trustedProxies ?? [])
  return {
    wants(req) {
      const isAsked = req.headers.upgrade?.toLowerCase() === 'websocket' && pathOf(req) === path
      return isAsked && guard.check(req) === null
    },
    handle: (req, socket, head) => upgrade(req, socket, head, peerOf(req)),
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
