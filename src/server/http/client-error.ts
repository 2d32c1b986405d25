import type { Socket } from 'node:net'
import { makeProblem, type Problem } from './problem.ts'
import { refuseUpgrade } from './refused-upgrade.ts'

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
      return makeProblem(408, 'request-timeout', 'the header block did not arrive in time')
    default:
      return makeProblem(400, 'malformed-request', 'this is not a request of HTTP/1.1')
  }
}
