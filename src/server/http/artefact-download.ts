import { create as contentDisposition } from 'content-disposition'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { parse } from 'range-parser'
import type { Logger } from '../../lib/util/logger.ts'
import { isArtefactHex } from '../../lib/mcp/artefact-uri.ts'
import type { ArtefactRef, ArtefactStore } from '../artefacts/store.ts'
import type { NodeHandler } from './app.ts'
import { makeProblem, toProblem, writeProblem } from './problem.ts'

const prefix = '/artefacts/sha256/'
export const artefactPattern = `${prefix}*`

/**
 * Answers `GET` and `HEAD /artefacts/sha256/<hex>`. A whole body is hashed while it is sent and the
 * connection is cut before its end when the bytes are damaged; a range is sent as it is. The log has
 * what could not be read, and why: the client is not told.
 */
export function artefactDownload(store: ArtefactStore, log: Logger): NodeHandler {
  return async (req, res, { path }) => {
    const hex = path.slice(prefix.length)
    const refuse = (status: number, code: string, detail: string) =>
      writeProblem(res, makeProblem(status, code, detail), safetyHeaders)
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.setHeader('Allow', 'GET, HEAD')
      return refuse(405, 'method-not-allowed', 'an artefact can be read with GET or HEAD')
    }
    try {
      const ref = isArtefactHex(hex) ? await store.find(hex) : null
      if (ref === null) {
        return refuse(404, 'artefact-not-found', 'no artefact is stored under this hash')
      }
      const etag = `"${hex}"`
      const range = rangeOf(req, etag, ref.size_bytes)
      const headers = artefactHeaders(ref, hex)
      // Any tag, or one of several, weak or strong (RFC 9110, section 13.1.2): no other contains this one.
      const known = req.headers['if-none-match']
      if (known === '*' || known?.includes(etag) === true) {
        const { 'Content-Type': _, 'Content-Disposition': __, ...kept } = headers
        res.writeHead(304, kept).end()
      } else if (req.method === 'HEAD') {
        res.writeHead(200, { ...headers, 'Content-Length': ref.size_bytes }).end()
      } else if (range === 'unsatisfiable') {
        res.setHeader('Content-Range', `bytes */${ref.size_bytes}`)
        refuse(416, 'range-not-satisfiable', `the artefact has ${ref.size_bytes} bytes`)
      } else {
        await using artefact = await store.open(hex)
        if (artefact === null) return refuse(404, 'artefact-not-found', 'the artefact is gone')
        if (range === 'whole') {
          const whole = { ...headers, 'Content-Length': ref.size_bytes }
          await pipe(res, 200, whole, artefact.verified())
        } else {
          const { start, end } = range
          const part = {
            ...headers,
            'Content-Length': end + 1 - start,
            'Content-Range': `bytes ${start}-${end}/${ref.size_bytes}`,
          }
          await pipe(res, 206, part, artefact.range(start, end + 1))
        }
      }
    } catch (error) {
      log.error({ err: error, sha256: hex }, 'an artefact could not be sent')
      // After the headers the connection is cut: the only way left to say that the body is not whole.
      writeProblem(res, toProblem(error), safetyHeaders)
    }
  }
}

/**
 * The range that a request asks for; `whole` for none, several, and one that is not understood: a
 * server may answer all of these with everything (RFC 9110, section 14.2).
 */
function rangeOf({ headers }: IncomingMessage, etag: string, size: number) {
  const { range, 'if-range': ifRange } = headers
  // A date is too coarse to vouch for bytes: only the tag counts.
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return 'whole'
  const { code, type, ranges } = parse(size, range)
  const isMalformed = code === 1 || code === 3
  if (type !== 'bytes' || isMalformed || ranges.length > 1) return 'whole'
  return ranges[0] ?? (code === 0 ? 'whole' : 'unsatisfiable')
}

/** Sends the pieces as fast as the reader takes them; stops when it has gone. */
async function pipe(
  res: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> {
  // Node does not call back for every write of a connection that was cut.
  const gone = new Promise<void>(resolve => res.once('close', resolve))
  for await (const piece of pieces) {
    // The first piece comes before the headers: a small damaged body is answered, not cut.
    if (!res.headersSent) res.writeHead(status, headers)
    if (res.destroyed) return
    // The piece may be overwritten once its bytes have left.
    const written = new Promise<unknown>(resolve => res.write(piece, resolve))
    await Promise.race([written, gone])
    if (res.destroyed) return
  }
  if (!res.headersSent) res.writeHead(status, headers)
  res.end()
}

/** Headers of every answer that speaks of a stored artefact. */
function artefactHeaders(ref: ArtefactRef, hex: string): Record<string, string> {
  // No folder, and nothing that a screen hides, may come from a name on the wire.
  const name = (ref.display_name ?? hex).replace(/[\\/\p{C}]/gu, '_')
  return {
    ...safetyHeaders,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    'Content-Disposition': contentDisposition(name),
    'Content-Type': ref.mime,
    ETag: `"${hex}"`,
    'Last-Modified': new Date(ref.created_at).toUTCString(),
  }
}

/** An artefact may be a page with a script: no browser may run it with our origin's rights. */
export const safetyHeaders = Object.freeze({
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
})
