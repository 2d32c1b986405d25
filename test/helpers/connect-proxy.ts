import { createServer } from 'node:http'
import { type Socket, connect } from 'node:net'
import { atEnd } from './cleanup.ts'
import { listening } from './listening.ts'

/** A proxy that leads every CONNECT to `port`, refuses it with `status`, or never answers. */
export async function startProxy(
  to: { readonly port: number } | { readonly status: number } | 'silent',
) {
  /** What it was asked for. */
  const lines: string[] = []
  const server = createServer((req, res) => {
    lines.push(`${req.method} ${req.url}`)
    res.writeHead(502).end()
  })
  server.on('connect', (req, socket: Socket) => {
    lines.push(`CONNECT ${req.url}`)
    socket.on('error', () => {})
    atEnd(() => socket.destroy())
    if (to === 'silent') return
    if ('status' in to) return void socket.end(`HTTP/1.1 ${to.status} No\r\n\r\n`)
    const onward = connect(to.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    onward.on('error', () => socket.destroy())
    socket.on('close', () => onward.destroy())
  })
  return { url: `http://127.0.0.1:${await listening(server)}`, lines }
}
