import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { openCable } from './cable.ts'
import { LinkTransport } from '../../src/server/gateway/join/link-transport.ts'
import { serveOnLink } from '../../src/server/join/link-server.ts'
import { Link } from '../../src/server/join/link.ts'

interface End {
  readonly link: Link
  readonly socket: Socket
}

/** Both ends of one link, over a real connection of this machine. */
export interface LinkPair {
  readonly transport: LinkTransport
  readonly gateway: End
  readonly instance: End
  /** From now on nothing comes through, and neither end is told. */
  silence(): void
  close(): void
}

/** `listener` answers the requests of the gateway. */
export async function openLinkPair(listener: RequestListener, pingMs?: number): Promise<LinkPair> {
  const endOf = (ws: WebSocket, socket: Socket): End => ({
    link: new Link(ws, () => {}, pingMs),
    socket,
  })
  const server: Server = createServer()
  const accepting = new WebSocketServer({ server, perMessageDeflate: false })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = new Promise<{ gateway: End; transport: LinkTransport }>(resolve => {
    accepting.once('connection', (ws, { socket }) => {
      const gateway = endOf(ws, socket)
      resolve({ gateway, transport: new LinkTransport(gateway.link) })
    })
  })
  const cable = await openCable((server.address() as AddressInfo).port)
  const ws = new WebSocket(`ws://127.0.0.1:${cable.port}/`, { perMessageDeflate: false })
  const instance = await new Promise<End>(resolve => {
    ws.once('upgrade', ({ socket }) => {
      ws.once('open', () => {
        const end = endOf(ws, socket)
        serveOnLink(end.link, listener)
        resolve(end)
      })
    })
  })
  return {
    ...(await accepted),
    instance,
    silence: () => cable.silence(),
    close() {
      cable.close()
      ws.terminate()
      for (const one of accepting.clients) one.terminate()
      server.close()
    },
  }
}
