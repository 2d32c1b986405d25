import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMissing, ServiceError } from '../../lib/util/errors.ts'
import { matchesEtag } from '../http/etag.ts'

/** Where the build puts the files of the page. */
export const builtFolder = fileURLToPath(new URL('../../page/', import.meta.url))

const indexName = 'index.html'
/** No other page than the index: one that allows more than this policy would have its origin. */
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

const policy = [
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
].join('; ')

const safetyHeaders = Object.freeze({
  'Content-Security-Policy': policy,
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
})

interface PageFile {
  readonly bytes: Buffer
  readonly type: string
  readonly etag: string
}

/** The files of the page: those that are there at the first request, kept in memory. */
export class PageFiles {
  readonly #folder: string
  #files: Promise<ReadonlyMap<string, PageFile>> | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The file at a path. Throws `route_not_found`. */
  async find(path: string): Promise<PageFile> {
    this.#files ??= readFiles(this.#folder)
    const files = await this.#files.catch((error: unknown) => {
      this.#files = null
      if (!isMissing(error)) throw error
      throw new ServiceError('route_not_found', 'the files of the page are not there', {
        hint: 'build them with npm run build',
      })
    })
    const file = files.get(path === '/' ? indexName : path.slice('/page/'.length))
    if (file !== undefined && (path === '/') === (file === files.get(indexName))) return file
    throw new ServiceError('route_not_found', `nothing is served at ${path.slice(0, 200)}`)
  }
}

/** Answers GET and HEAD. `isHttps`: browsers reach the server over HTTPS. */
export function sendFile(
  req: IncomingMessage,
  res: ServerResponse,
  { bytes, type, etag }: PageFile,
  isHttps: boolean,
): void {
  const headers = {
    ...safetyHeaders,
    // Browsers ignore it, with a warning, over plain HTTP.
    ...(isHttps && { 'Cross-Origin-Opener-Policy': 'same-origin' }),
    'Cache-Control': 'no-cache',
    ETag: etag,
  }
  if (matchesEtag(req.headers['if-none-match'], etag)) {
    res.writeHead(304, headers).end()
    return
  }
  res.writeHead(200, { ...headers, 'Content-Type': type, 'Content-Length': bytes.length })
  res.end(req.method === 'HEAD' ? undefined : bytes)
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  const entries = await readdir(folder, { withFileTypes: true })
  const named = entries
    .filter(entry => entry.isFile())
    .map(({ name }) => ({ name, type: types[extname(name)] }))
  const index = { name: indexName, type: 'text/html; charset=utf-8' }
  const known = [index, ...named].flatMap(({ name, type }) => (type ? [{ name, type }] : []))
  const read = known.map(async ({ name, type }) => {
    const bytes = await readFile(join(folder, name))
    const etag = `"${hash('sha256', bytes, 'base64url')}"`
    return [name, { bytes, type, etag }] as const
  })
  return new Map(await Promise.all(read))
}
