import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { LinkTransport } from '../../src/server/gateway/join/link-transport.ts'
import { Link } from '../../src/server/join/link.ts'

/** The end of a gateway, so far as a test scripts it. */
export interface Joined {
  readonly transport: LinkTransport
  readonly link: Link
  readonly socket: Socket
  readonly headers: IncomingHttpHeaders
  /** The records that the instance sent. */
  readonly records: any[]
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
      const records: any[] = []
      const link = new Link(ws, text => records.push(JSON.parse(text)))
      const transport = new LinkTransport(link)
      joined.push({ transport, link, socket, headers: req.headers, records })
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

export const accept = ({ link }: Joined) =>
  link.sendText(JSON.stringify({ owner: 'ada', team: 'fx', name: 'workstation-042' }))
