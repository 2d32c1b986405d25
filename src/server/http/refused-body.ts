import type { IncomingMessage, ServerResponse } from 'node:http'

/** Is the client still sending the body of this request, or about to? */
export function isBodyPending(req: IncomingMessage): boolean {
  if (req.complete || req.destroyed) return false
  const length = req.headers['content-length']
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/**
 * Sends the whole answer, then keeps reading and throwing away what the client sends until it is
 * done, gives up, or `drainMs` have passed; only then the connection is closed. A connection
 * closed with unread bytes is reset by the system, and the reset overtakes the answer.
 * The headers must be out, with `Content-Length` and `Connection: close`.
 */
export function endAfterBody(res: ServerResponse, body: Uint8Array, drainMs: number): void {
  const req = res.req
  const finish = () => {
    clearTimeout(timer)
    req.off('end', finish)
    req.off('close', finish)
    res.end()
  }
  const timer = setTimeout(finish, drainMs)
  req.on('end', finish)
  req.on('close', finish)
  // An aborted request reports itself as an error, which nobody else listens to by now.
  req.on('error', () => {})
  res.write(body)
  req.resume()
}
