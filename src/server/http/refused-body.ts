import type { IncomingMessage, ServerResponse } from 'node:http'
import { httpDefaults } from './limits.ts'

/**
 * Sends the whole answer to a request whose body may still be on its way. Such a body is read and
 * dropped until the client is done or gone, or `drainMs` have passed; then the connection is
 * closed.
 * The system resets a connection that is closed with unread bytes, and the reset overtakes the
 * answer.
 */
export function endRefused(
  res: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: Buffer,
  drainMs: number = httpDefaults.refusedBodyDrainMs,
): void {
  const { req } = res
  const sized = { ...headers, 'Content-Length': body.length }
  if (!isBodyPending(req)) {
    res.writeHead(status, sized).end(body)
    return
  }
  const finish = () => {
    clearTimeout(timer)
    req.off('end', finish)
    req.off('close', finish)
    res.end()
  }
  const timer = setTimeout(finish, drainMs)
  req.on('end', finish)
  req.on('close', finish)
  res.writeHead(status, { ...sized, Connection: 'close' }).write(body)
  req.resume()
}

/** Whether the client is still sending the body of this request, or about to. */
function isBodyPending(req: IncomingMessage): boolean {
  if (req.complete || req.destroyed) return false
  const length = req.headers['content-length']
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
