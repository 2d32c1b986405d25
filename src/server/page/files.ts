import { serveStatic } from '@hono/node-server/serve-static'
import { Hono, type MiddlewareHandler } from 'hono'
import { etag } from 'hono/etag'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
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
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-cache',
}

/** Routes of the files of the page. */
export function pageFiles(folder: string): Hono<AppEnv> {
  const guardPage: MiddlewareHandler<AppEnv> = async (c, next) => {
    await next()
    for (const [name, value] of Object.entries(headers)) c.header(name, value)
  }
  const send = serveStatic<AppEnv>({
    rewriteRequestPath: path => join(folder, path === '/' ? 'index.html' : basename(path)),
  })
  // No other HTML than the index: a page that allows more than this policy would have its origin.
  const paths = ['/', '/page/:file{[\\w-]+\\.(?:css|js|svg|txt)}']
  return new Hono<AppEnv>().on('GET', paths, guardPage, etag(), send)
}
