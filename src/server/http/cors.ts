import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseOrigin } from '../../lib/util/net.ts'

export interface Cors {
  /** Tells caches that an answer depends on the page, where it does. */
  vary(res: ServerResponse): void
  /** Lets an allowed page read the answer. True: the request was a preflight, and is answered. */
  admit(req: IncomingMessage, res: ServerResponse): boolean
}

/** What a page may read of an answer, beside what every page may. */
const exposedHeaders = [
  'Mcp-Session-Id',
  'WWW-Authenticate',
  'ETag',
  'Content-Range',
  'Accept-Ranges',
  'Content-Disposition',
  'Retry-After',
].join(', ')

/** What a page may send. */
const requestHeaders = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Mcp-Session-Id',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Last-Event-ID',
  'Range',
  'If-Range',
  'If-None-Match',
].join(', ')

/** Cross-origin access, only for the pages named by `--allowed-origin`. */
export function createCors(allowedOrigins: readonly string[], methods = 'GET, POST, DELETE'): Cors {
  const origins = new Set(allowedOrigins.map(origin => parseOrigin(origin) ?? origin.toLowerCase()))
  return {
    vary(res) {
      if (origins.size > 0) res.setHeader('Vary', 'Origin')
    },
    admit(req, res) {
      const { origin, 'access-control-request-method': asked } = req.headers
      if (origin === undefined || !origins.has(origin.toLowerCase())) return false
      res.setHeader('Access-Control-Allow-Origin', origin)
      res.setHeader('Access-Control-Expose-Headers', exposedHeaders)
      res.setHeader('Vary', 'Origin')
      if (req.method !== 'OPTIONS' || asked === undefined) return false
      res.writeHead(204, {
        'Access-Control-Allow-Methods': methods,
        'Access-Control-Allow-Headers': requestHeaders,
        'Access-Control-Max-Age': '600',
      })
      res.end()
      return true
    },
  }
}
