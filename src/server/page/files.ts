import { serveStatic } from '@hono/node-server/serve-static'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { etag } from 'hono/etag'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ServiceError } from '../../lib/util/errors.ts'
import type { AppEnv } from '../http/app.ts'

/** Where the build puts the files of the page. */
export const builtFolder = fileURLToPath(new URL('../../page/', import.meta.url))

const headers = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-cache',
}

/** Routes of the files of the page. `isHttps`: browsers reach the server over HTTPS. */
export function pageFiles(folder: string, isHttps: (c: Context<AppEnv>) => boolean): Hono<AppEnv> {
  const guardPage: MiddlewareHandler<AppEnv> = async (c, next) => {
    await next()
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
    // Browsers ignore it, with a warning, over plain HTTP.
    if (isHttps(c)) c.header('Cross-Origin-Opener-Policy', 'same-origin')
  }
  const send = serveStatic<AppEnv>({
    rewriteRequestPath: path => join(folder, path === '/' ? 'index.html' : basename(path)),
    onNotFound(_, { req }) {
      if (req.path !== '/') return
      throw new ServiceError('route_not_found', 'the files of the page are not there', {
        hint: 'build them with npm run build',
      })
    },
  })
  // No other HTML than the index: a page that allows more than this policy would have its origin.
  const paths = ['/', '/page/:file{[\\w-]+\\.(?:css|js|svg|txt)}']
  return new Hono<AppEnv>().on('GET', paths, guardPage, etag(), send)
}
