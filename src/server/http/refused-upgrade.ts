import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Problem } from './problem.ts'

/** The request asked to leave HTTP: there is no response object, and nothing else on this socket. */
export function refuseUpgrade(
  socket: Socket,
  problem: Problem,
  headers: Readonly<Record<string, string>> = {},
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
  // Whoever does not close its side would keep the socket.
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${problem.status} ${phrase}\r\n${lines.join('')}\r\n${body}`)
}
