import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { systemTimer } from '../../src/lib/util/time.ts'
import { LinkClient } from '../../src/server/gateway/join/link-client.ts'
import { LinkSocket } from '../../src/server/join/link-socket.ts'
import { defaultBounds } from './bounds.ts'

/** The end of a gateway, so far as a test scripts it. */
export interface Joined {
  readonly client: LinkClient
  readonly link: LinkSocket
  readonly socket: Socket
  readonly headers: IncomingHttpHeaders
}

/** Takes every link that `refuse` does not answer with a status. */
export function acceptLinks(server: Server, refuse: () => number | null = () => null) {
  const joined: Joined[] = []
  const accepting = new WebSocketServer({ noServer: true, perMessageDeflate: false })
  let attempts = 0
  server.on('upgrade', (req, socket: Socket, head) => {
    attempts++
    const status = refuse()
    if (status !== null) {
      const body = JSON.stringify({ detail: 'the token was revoked' })
      socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      return
    }
    accepting.handleUpgrade(req, socket, head, (ws: WebSocket) => {
      const link = new LinkSocket(ws, socket, defaultBounds)
      const client = new LinkClient(link.stream, defaultBounds, systemTimer)
      joined.push({ client, link, socket, headers: req.headers })
    })
  })
  return { joined, attempts: () => attempts }
}

/** A gateway at an address of this machine that takes every link. */
export async function startScriptedGateway(host: string, port = 0) {
  const server = createServer()
  const links = acceptLinks(server)
  server.listen(port, host)
  await once(server, 'listening')
  return {
    ...links,
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      for (const { socket } of links.joined) socket.destroy()
    },
  }
}

/** A request on the link, for `LinkClient.ask`. */
export const linkRequest = (path: string) => ({
  url: new URL(path, 'http://instance'),
  method: 'GET' as const,
  headers: {},
  answerMs: 60_000,
  signal: new AbortController().signal,
})

export const accept = ({ client }: Joined) =>
  client.ask({
    ...linkRequest('/join/v1/accepted'),
    method: 'POST',
    body: JSON.stringify({ owner: 'ada', team: 'fx', name: 'workstation-042' }),
  })
