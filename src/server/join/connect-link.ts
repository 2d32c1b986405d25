import type { JoinLimits } from './limits.ts'
import type { IncomingMessage } from 'node:http'
import { Agent } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { WebSocket } from 'ws'
import { collectBounded } from '../../lib/util/bytes.ts'
import { connectionReason } from '../../lib/util/connection-reason.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import { proxyAgentOptions, proxyFor } from '../../lib/util/proxy.ts'
import { hideSecrets, type Secret } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import { userAgent } from '../../lib/util/version.ts'
import { LinkSocket, maxJoinMessageBytes } from './link-socket.ts'
import type { LinkStream } from './link-stream.ts'
import { joinCloseCodes, joinPath, joinProtocol } from './wire.ts'

/** Why a link, or an attempt to open one, ended. */
export interface LinkOutcome {
  /** Another attempt fails until the token or a setting has changed. */
  readonly isRefused: boolean
  /** Another link of this instance leads to the same gateway. */
  readonly isReplaced?: boolean
  /** As a clause. */
  readonly reason: string
}

interface LinkOptions {
  /** The address of the gateway, http or https, without a slash at the end. */
  readonly gateway: string
  /** The address to connect to, of those of its name, for which TLS checks the certificate. */
  readonly address?: string | null
  readonly token: Secret
  readonly limits: Pick<JoinLimits, 'joinPingMs' | 'joinSilenceMs'>
  /** Called when the link is open; begins HTTP/2 at once (see `LinkSocket`). */
  readonly opened: (stream: LinkStream) => void
  /** Aborted when the instance stops. */
  readonly signal: AbortSignal
}

const handshakeMs = 15_000
const maxProblemBytes = 16 * 1024
const problemMs = 5000
const refusals: ReadonlySet<number> = new Set([
  joinCloseCodes.recordRefused,
  joinCloseCodes.tokenRefused,
])

/** Opens one link to a gateway. Resolves when it has ended; never rejects. */
export function connectLink(options: LinkOptions): Promise<LinkOutcome> {
  const { gateway, address, token, limits, opened, signal } = options
  const ws = new WebSocket(gateway.replace(/^http/, 'ws') + joinPath, joinProtocol, {
    perMessageDeflate: false,
    handshakeTimeout: handshakeMs,
    followRedirects: false,
    maxPayload: maxJoinMessageBytes,
    agent: agentFor(gateway),
    lookup: address ? lookupOf(address) : undefined,
    headers: { Authorization: `Bearer ${token.reveal()}`, 'User-Agent': userAgent },
  })
  return new Promise(resolve => {
    let link: LinkSocket | null = null
    const stop = (): void => {
      if (link === null) ws.terminate()
      else link.close(joinCloseCodes.stopped, 'the instance stops')
    }
    const end = (outcome: LinkOutcome): void => {
      signal.removeEventListener('abort', stop)
      resolve(outcome)
    }
    signal.addEventListener('abort', stop)
    ws.once('unexpected-response', (_req, answer) => {
      void refusalOf(answer, token).then(refusal => {
        end(refusal)
        ws.terminate()
      })
    })
    ws.on('error', error => {
      if (link === null) end({ isRefused: false, reason: reasonOf(error) })
    })
    ws.once('upgrade', ({ socket }) => {
      ws.once('open', () => {
        link = new LinkSocket(ws, socket, limits)
        opened(link.stream)
        void link.ended.then(({ code, reason }) => {
          const isReplaced = code === joinCloseCodes.replaced
          end({ isRefused: refusals.has(code), isReplaced, reason })
        })
      })
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

/** Describes an HTTP answer that refuses the link. */
async function refusalOf(answer: IncomingMessage, token: Secret): Promise<LinkOutcome> {
  const { statusCode: status = 0, headers } = answer
  answer.setTimeout(problemMs, () => answer.destroy())
  const body = await collectBounded(answer, maxProblemBytes).catch(() => null)
  const parsed = parseJson(body?.toString() ?? '', 8)
  const problem = parsed.ok ? hideSecrets(parsed.value, [token]) : null
  const { detail } = isJsonObject(problem) ? problem : {}
  const said = typeof detail === 'string' ? `: ${cleanText(detail, 300)}` : ''
  if (status === 404) {
    return { isRefused: true, reason: `it accepts no instances (HTTP 404)${said}` }
  }
  const isTemporary = status === 429 || status >= 500
  const redirect = headers.location === undefined ? '' : '; redirects are not followed'
  return { isRefused: !isTemporary, reason: `it answers with HTTP ${status}${said}${redirect}` }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === undefined || !/^\w{1,64}$/.test(code)) return cleanText(message, 200)
  return connectionReason(code)
}
