import type { IncomingMessage } from 'node:http'
import { Agent } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { WebSocket } from 'ws'
import { instanceHeader } from '../../lib/instances/gateway-key.ts'
import { joinPath, joinProtocol, maxJoinMessageBytes } from '../../lib/instances/join-wire.ts'
import { onAbort } from '../../lib/util/abort.ts'
import { collectBounded } from '../../lib/util/bytes.ts'
import { connectionReason } from '../../lib/util/connection-reason.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import { proxyAgentOptions, proxyFor } from '../../lib/util/proxy.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import { userAgent } from '../../lib/util/version.ts'
import { Link } from './link.ts'

interface ConnectOptions {
  /** The address of the gateway, http or https, without a slash at the end. */
  gateway: string
  /** The address to connect to, of those of its name, for which TLS checks the certificate. */
  address?: string | null
  token: Secret
  instanceId: string
  /** Called with each text message of the gateway. */
  received: (text: string) => void
  /** Ends the attempt. */
  signal: AbortSignal
}

const handshakeMs = 15_000
const maxProblemBytes = 16 * 1024

/**
 * Opens one link to a gateway. Rejects with the reason as a clause: `request_refused` when another
 * attempt fails until the token or a setting has changed, else `network_failed`.
 */
export function connectLink(options: ConnectOptions): Promise<Link> {
  const { gateway, address, token, instanceId, received, signal } = options
  const ws = new WebSocket(gateway.replace(/^http/, 'ws') + joinPath, joinProtocol, {
    perMessageDeflate: false,
    handshakeTimeout: handshakeMs,
    maxPayload: maxJoinMessageBytes,
    agent: agentFor(gateway),
    lookup: address ? lookupOf(address) : undefined,
    headers: {
      Authorization: `Bearer ${token.reveal()}`,
      'User-Agent': userAgent,
      [instanceHeader]: instanceId,
    },
  })
  return new Promise((resolve, reject) => {
    const release = onAbort(signal, () => ws.terminate())
    ws.once('close', release)
    ws.once('open', () => {
      release()
      resolve(new Link(ws, received))
    })
    ws.once('unexpected-response', (_req, answer) => {
      void refusalOf(answer).then(refusal => {
        reject(refusal)
        ws.terminate()
      })
    })
    ws.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      const reason = code === undefined ? cleanText(message, 200) : connectionReason(code)
      reject(new ServiceError('network_failed', reason))
    })
  })
}

/** Connects through the proxy of the environment. */
function agentFor(gateway: string): Agent | undefined {
  const url = new URL(gateway)
  if (url.protocol !== 'https:') return undefined
  return new Agent(proxyAgentOptions(proxyFor(url, process.env)))
}

/** Resolves every name to this address; not asked about the name of a proxy. */
function lookupOf(address: string): LookupFunction {
  const family = isIP(address)
  return (_hostname, { all }, done) => {
    if (all === true) done(null, [{ address, family }])
    else done(null, address, family)
  }
}

/** Describes an HTTP answer in place of a link. */
async function refusalOf(answer: IncomingMessage): Promise<ServiceError> {
  const { statusCode: status = 0 } = answer
  const body = await collectBounded(answer, maxProblemBytes).catch(() => null)
  const problem = parseJson(body?.toString() ?? '', 8)
  const { detail } = problem.ok && isJsonObject(problem.value) ? problem.value : {}
  const suffix = typeof detail === 'string' ? `: ${cleanText(detail, 300)}` : ''
  const isTemporary = status === 429 || status >= 500
  const code = isTemporary ? 'network_failed' : 'request_refused'
  return new ServiceError(code, `it answers with HTTP ${status}${suffix}`)
}
