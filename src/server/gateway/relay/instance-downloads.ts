import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { isArtefactHex } from '../../../lib/mcp/uris.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { safetyHeaders } from '../../http/artefact-download.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { collect } from './instance-answer.ts'
import type { Instances } from './instances.ts'
import { refusedError } from './relay-errors.ts'
import type { InstanceAnswer } from './transport.ts'

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
  const closed = new AbortController()
  res.once('close', () => closed.abort(new ServiceError('cancelled', 'the reader left')))
  const caller = { signal: closed.signal }
  const wanted = { instanceId, rpc: method, uri }
  const passed = instances.asked(wanted, caller, async (connection, reader = caller) => {
    const { signal } = reader
    const asked = only(req.headers, askedHeaders)
    const answer = await connection.download(method, `/artefacts/sha256/${hex}`, asked, signal)
    const { status, headers, body } = answer
    if (!passedOn.has(status)) {
      const { bytes } = await collect(body)
      body.destroy()
      throw refusedError(status, bytes, path)
    }
    // The page of the gateway has the same origin: a browser must not run what an instance sends.
    res.writeHead(status, { ...only(headers, answeredHeaders), ...safetyHeaders })
    res.setTimeout(stallMs, () => res.destroy())
    await passBody(answer, res, signal)
  })
  await passed.catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error
    const { code, message, hint, data } = error
    // Where the answer has begun, `passBody` ends or cuts it.
    if (res.headersSent || res.destroyed) return
    // A failure of the instance, which may be over soon, and none of the gateway.
    if (code !== 'resource_failed') throw error
    throw new ServiceError('overloaded', message, { hint, data })
  })
}

/**
 * Passes the body of `answer` on. A cut on either side cuts the other, so that half a body is never
 * taken for a whole one. After the last byte the connection of the reader stays: it may have sent
 * its next request already.
 */
async function passBody(
  { headers, body }: InstanceAnswer,
  res: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  let missing = Number(headers['content-length'] ?? Infinity)
  body.on('data', (chunk: Buffer) => void (missing -= chunk.length))
  try {
    await pipeline(body, res, { signal, end: false })
  } catch {
    if (missing !== 0) return void res.destroy()
  }
  res.end()
}

function only(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap(name => {
      const value = headers[name]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}
