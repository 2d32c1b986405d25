import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { makeProblem, type Problem } from './problem.ts'

/**
 * The request asked to leave HTTP: there is no response object, and nothing else on this socket.
 */
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

/** Answers what never became a request, as RFC 9457 has it, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // The client has gone, or closes already.
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
  else refuseUpgrade(socket, problemOf(error.code))
}

function problemOf(code: string | undefined): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return makeProblem(
        431,
        'headers-too-large',
        'the header block is too large, or has over 1000 headers',
      )
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return makeProblem(413, 'body-too-large', 'the chunk extensions of the body are too large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return makeProblem(408, 'request-timeout', 'the request did not arrive in time')
    default:
      return makeProblem(400, 'malformed-request', 'this is not a request of HTTP/1.1')
  }
}
