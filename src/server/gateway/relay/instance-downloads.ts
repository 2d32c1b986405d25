import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { isArtefactHex } from '../../../lib/mcp/artefact-uri.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { safetyHeaders } from '../../http/artefact-download.ts'
import type { RequestContext } from '../../http/request-context.ts'
import type { Instances } from './instances.ts'
import { answerError } from './relay-errors.ts'

const form = /^\/instances\/([^/]+)\/artefacts\/sha256\/([^/]+)$/
/** A reader that takes nothing for this long is cut, and an instance that gives nothing. */
const stallMs = 60_000

const askedHeaders = ['range', 'if-range', 'if-none-match'] as const
const answeredHeaders = [
  'content-type',
  'content-length',
  'content-range',
  'content-disposition',
  'accept-ranges',
  'etag',
  'last-modified',
  'cache-control',
  'retry-after',
] as const
const passedOn: ReadonlySet<number> = new Set([200, 206, 304, 404, 416])

/**
 * Answers `GET` and `HEAD /instances/<id>/artefacts/sha256/<hex>` with what the instance answers,
 * as fast as the reader takes it.
 */
export async function relayDownload(
  req: IncomingMessage,
  res: ServerResponse,
  { path, viewer }: RequestContext,
  instances: Instances,
): Promise<void> {
  const [, selector = '', hex = ''] = form.exec(path) ?? []
  if (!isArtefactHex(hex)) throw new ServiceError('route_not_found', 'nothing is served here')
  const { method } = req
  if (method !== 'GET' && method !== 'HEAD') {
    res.setHeader('Allow', 'GET, HEAD')
    throw new ServiceError('method_not_allowed', 'an artefact can be read with GET or HEAD')
  }
  const uri = `instance://${selector}/artefact/sha256/${hex}`
  const instanceId = instances.find(uri, viewer)
  const left = new AbortController()
  res.once('close', () => left.abort(new ServiceError('cancelled', 'the reader left')))
  const caller = { signal: left.signal }
  try {
    const wanted = { instanceId, rpc: method, uri }
    await instances.asked(wanted, caller, async (connection, { signal } = caller) => {
      const asked = only(req.headers, askedHeaders)
      const answer = await connection.download(method, `/artefacts/sha256/${hex}`, asked, signal)
      const { status, headers, body } = answer
      if (!passedOn.has(status)) {
        const { bytes } = await body.collect()
        body.destroy()
        throw answerError(status, bytes, path)
      }
      // The page of the gateway has the same origin: a browser must not run what an instance sends.
      res.writeHead(status, { ...only(headers, answeredHeaders), ...safetyHeaders })
      res.setTimeout(stallMs, () => res.destroy())
      // A cut on either side cuts the other, so that half a body is never taken for a whole one.
      // After the last byte the reader may have sent its next request already.
      let missing = Number(headers['content-length'] ?? Infinity)
      const bytes = body.stream()
      bytes.on('data', (chunk: Buffer) => void (missing -= chunk.length))
      await pipeline(bytes, res, { signal, end: false }).catch((cause: unknown) => {
        if (missing !== 0) throw new ServiceError('cancelled', 'the download was cut', { cause })
      })
      res.end()
    })
  } catch (error) {
    if (res.headersSent || res.destroyed) return void res.destroy()
    if (!(error instanceof ServiceError) || error.code !== 'resource_failed') throw error
    // A failure of the instance, which may be over soon, and none of the gateway.
    const { message, hint, data } = error
    throw new ServiceError('overloaded', message, { hint, data })
  }
}

function only(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap(name => {
      const value = headers[name]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}
