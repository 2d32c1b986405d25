import type { IncomingMessage } from 'node:http'
import { Agent } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { WebSocket } from 'ws'
import { instanceHeader } from '../../lib/instances/gateway-key.ts'
import { collectBounded } from '../../lib/util/bytes.ts'
import { connectionReason } from '../../lib/util/connection-reason.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import { proxyAgentOptions, proxyFor } from '../../lib/util/proxy.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import { userAgent } from '../../lib/util/version.ts'
import { Link } from './link.ts'
import { joinPath, joinProtocol, maxJoinMessageBytes } from './wire.ts'

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

/** The link cannot be opened; the message is the reason, as a clause. */
export class LinkFailed extends Error {
  /** Another attempt fails until the token or a setting has changed. */
  readonly isRefused: boolean

  constructor(reason: string, isRefused: boolean) {
    super(reason)
    this.isRefused = isRefused
  }
}

const handshakeMs = 15_000
const maxProblemBytes = 16 * 1024

/** Opens one link to a gateway. Rejects with `LinkFailed`. */
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
    const stop = (): void => ws.terminate()
    signal.addEventListener('abort', stop)
    ws.once('close', () => signal.removeEventListener('abort', stop))
    ws.once('open', () => {
      signal.removeEventListener('abort', stop)
      resolve(new Link(ws, received))
    })
    ws.once('unexpected-response', (_req, answer) => {
      void refusalOf(answer).then(refusal => {
        reject(refusal)
        ws.terminate()
      })
    })
    ws.on('error', error => reject(new LinkFailed(reasonOf(error), false)))
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
async function refusalOf(answer: IncomingMessage): Promise<LinkFailed> {
  const { statusCode: status = 0 } = answer
  const body = await collectBounded(answer, maxProblemBytes).catch(() => null)
  const problem = parseJson(body?.toString() ?? '', 8)
  const { detail } = problem.ok && isJsonObject(problem.value) ? problem.value : {}
  const said = typeof detail === 'string' ? `: ${cleanText(detail, 300)}` : ''
  const isTemporary = status === 429 || status >= 500
  return new LinkFailed(`it answers with HTTP ${status}${said}`, !isTemporary)
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === undefined || !/^\w{1,64}$/.test(code)) return cleanText(message, 200)
  return connectionReason(code)
}
