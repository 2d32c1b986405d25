import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Guard, pathOf, type Reach } from './guard.ts'
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
