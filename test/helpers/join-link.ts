import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { openCable } from './cable.ts'
import { systemTimer } from '../../src/lib/util/time.ts'
import { LinkClient } from '../../src/server/gateway/join/link-client.ts'
import { createLinkServer } from '../../src/server/join/link-server.ts'
import { LinkSocket } from '../../src/server/join/link-socket.ts'
import { type Bounds, defaultBounds } from './bounds.ts'

/** Both ends of one link, over a real connection of this machine. */
export interface LinkPair {
  readonly client: LinkClient
  readonly gateway: { readonly link: LinkSocket; readonly socket: Socket }
  readonly instance: { readonly link: LinkSocket; readonly socket: Socket }
  /** From now on nothing comes through, and neither end is told. */
  silence(): void
  close(): void
}

/** `listener` answers the requests of the gateway. */
export async function openLinkPair(
  listener: RequestListener,
  bounds: Partial<Bounds> = {},
): Promise<LinkPair> {
  const limits = { ...defaultBounds, ...bounds }
  const server: Server = createServer()
  const accepting = new WebSocketServer({ server, perMessageDeflate: false })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = new Promise<LinkPair['gateway'] & { client: LinkClient }>(resolve => {
    accepting.once('connection', (ws, { socket }) => {
      const link = new LinkSocket(ws, socket, limits)
      resolve({ link, socket, client: new LinkClient(link.stream, limits, systemTimer) })
    })
  })
  const cable = await openCable((server.address() as AddressInfo).port)
  const ws = new WebSocket(`ws://127.0.0.1:${cable.port}/`, { perMessageDeflate: false })
  const answer = createLinkServer(listener, limits)
  const instance = await new Promise<LinkPair['instance']>(resolve => {
    ws.once('upgrade', ({ socket }) => {
      ws.once('open', () => {
        const link = new LinkSocket(ws, socket, limits)
        answer(link.stream)
        resolve({ link, socket })
      })
    })
  })
  const { client, ...gateway } = await accepted
  return {
    client,
    gateway,
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
