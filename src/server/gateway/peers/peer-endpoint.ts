import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { validateBearerToken } from '../../../lib/auth/validate-bearer-token.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import type { HttpAnswer } from '../../../lib/mcp/bridge/http-link.ts'
import { instanceHeader } from '../../../lib/instances/gateway-key.ts'
import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { uuidForm } from '../../../lib/util/text.ts'
import { readBody } from '../../http/body.ts'
import { type LinkClient, linkUrl } from '../join/link-client.ts'
import { passBody } from '../relay/instance-downloads.ts'
import { AnswerTimeout } from '../relay/read-link.ts'

/** Begins the paths at which gateways of one database ask each other. */
export const peerPath = '/peer/'

/** Statuses of a gateway that refuses a request. Only answers of an instance have `instanceHeader`. */
export const peerRefusals = { secret: 401, notHeld: 421, cut: 502, late: 504 } as const

/** A last bound: the gateway that asks has shorter times. */
const answerMs = 120_000
const form = new RegExp(`^${peerPath}(${uuidForm})(/mcp|/artefacts/.*)$`)
const methods = ['GET', 'HEAD', 'POST', 'DELETE'] as const
/** Headers of one connection, or of the caller. */
const notForwarded: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'host',
  'authorization',
  'cookie',
  'content-length',
  'proxy-authorization',
  'http2-settings',
])

interface PeerEndpointParts {
  /** What other gateways present. */
  readonly secret: string
  /** The link of an instance, when this gateway holds it. */
  readonly linkOf: (instanceId: string) => LinkClient | null
  readonly limits: Pick<Limits, 'maxRequestBytes' | 'bodyTimeoutMs'>
}

/** Answers other gateways for the instances whose links are here. */
export function createPeerEndpoint({ secret, linkOf, limits }: PeerEndpointParts) {
  const bodyLimits = { maxBytes: limits.maxRequestBytes, timeoutMs: limits.bodyTimeoutMs }
  return async (req: IncomingMessage, res: ServerResponse, path: string): Promise<void> => {
    if (!validateBearerToken(req.headers, { expectedToken: secret })) {
      throw new ServiceError('auth_refused', 'only gateways of one database ask each other here')
    }
    if (path === peerPath) return void res.writeHead(204).end()
    const [, instanceId = '', rest = ''] = form.exec(path) ?? []
    const method = methods.find(one => one === req.method)
    if (instanceId === '' || method === undefined) {
      throw new ServiceError('route_not_found', 'nothing is served here')
    }
    const link = linkOf(instanceId)
    if (link === null) return void res.writeHead(peerRefusals.notHeld).end()
    const left = new AbortController()
    res.once('close', () => left.abort())
    const { search } = new URL(req.url ?? '', linkUrl)
    let answer: HttpAnswer
    try {
      answer = await link.ask({
        url: new URL(rest + search, linkUrl),
        method,
        headers: forwarded(req.headers),
        body: method === 'POST' ? await readBody(req, bodyLimits) : undefined,
        repeatable: false,
        answerMs,
        signal: left.signal,
      })
    } catch (error) {
      if (left.signal.aborted) return
      if (!(error instanceof Unreachable)) throw error
      const status = error instanceof AnswerTimeout ? peerRefusals.late : peerRefusals.cut
      return void res.writeHead(status).end()
    }
    res.writeHead(answer.statusCode ?? 502, {
      ...forwarded(answer.headers, ['content-length']),
      [instanceHeader]: instanceId,
    })
    res.flushHeaders()
    await passBody(answer, res, left.signal)
  }
}

function forwarded(headers: IncomingHttpHeaders, also: string[] = []): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const isKept = also.includes(name) || !(notForwarded.has(name) || name.startsWith(':'))
      return isKept && typeof value === 'string' ? [[name, value]] : []
    }),
  )
}
