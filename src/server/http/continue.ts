import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * `Expect: 100-continue`: asks for the body only once somebody reads it. A request that is refused
 * by its headers is answered at once, and nobody sends a body that nobody takes.
 */
export function continueWhenRead(req: IncomingMessage, res: ServerResponse): void {
  const read = req._read.bind(req)
  req._read = size => {
    req._read = read
    if (!res.headersSent) res.writeContinue()
    read(size)
  }
}
