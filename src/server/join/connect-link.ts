import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import type { Limits } from '../../lib/config/limits.ts'
import { collectBounded } from '../../lib/util/bytes.ts'
import { connectionAdvice } from '../../lib/util/connection-reason.ts'
import { isJsonObject, parseJson } from '../../lib/util/json.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import { userAgent } from '../../lib/util/version.ts'
import { LinkSocket } from './link-socket.ts'
import type { LinkStream } from './link-stream.ts'
import { joinCloseCodes, joinPath, joinProtocol } from './wire.ts'

/** Why a link, or an attempt to open one, ended. */
export interface LinkEnding {
  /** Another attempt ends the same way until a token or a setting is changed. */
  readonly isRefused: boolean
  /** A clause for people. */
  readonly reason: string
}

interface LinkParts {
  /** The address of the gateway, http or https, without a slash at the end. */
  readonly gateway: string
  readonly token: Secret
  readonly limits: Pick<Limits, 'joinPingMs' | 'joinSilenceMs' | 'maxJoinMessageBytes'>
  /** The link is open: HTTP/2 is to begin on it now. */
  readonly opened: (stream: LinkStream) => void
  /** Ends the link: the instance stops. */
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
export function connectLink(parts: LinkParts): Promise<LinkEnding> {
  const { gateway, token, limits, opened, signal } = parts
  const ws = new WebSocket(gateway.replace(/^http/, 'ws') + joinPath, joinProtocol, {
    ...{ perMessageDeflate: false, handshakeTimeout: handshakeMs, followRedirects: false },
    maxPayload: limits.maxJoinMessageBytes,
    headers: { Authorization: `Bearer ${token.reveal()}`, 'User-Agent': userAgent },
  })
  return new Promise(resolve => {
    const stop = () => ws.terminate()
    const end = (ending: LinkEnding): void => {
      signal.removeEventListener('abort', stop)
      resolve(ending)
    }
    signal.addEventListener('abort', stop)
    let socket: Socket | null = null
    ws.once('upgrade', answer => (socket = answer.socket))
    ws.once('unexpected-response', (_req, answer) => {
      void refusalOf(answer).then(refusal => {
        end(refusal)
        ws.terminate()
      })
    })
    ws.on('error', error => end({ isRefused: false, reason: reasonOf(error) }))
    ws.once('open', () => {
      if (socket === null) return
      const link = new LinkSocket(ws, socket, limits)
      opened(link.stream)
      signal.removeEventListener('abort', stop)
      const close = () => link.close(joinCloseCodes.stopped, 'the instance stops')
      signal.addEventListener('abort', close)
      void link.ended.then(({ code, reason }) => {
        signal.removeEventListener('abort', close)
        end({ isRefused: refusals.has(code), reason })
      })
    })
  })
}

/** What the answer says that is no link. */
async function refusalOf(answer: IncomingMessage): Promise<LinkEnding> {
  const { statusCode: status = 0, headers } = answer
  answer.setTimeout(problemMs, () => answer.destroy())
  const body = await collectBounded(answer, maxProblemBytes).catch(() => null)
  const parsed = parseJson(body?.toString() ?? '', 8)
  const { detail } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  const said = typeof detail === 'string' ? `: ${cleanText(detail, 300)}` : ''
  const isPassing = status === 429 || status >= 500
  if (status === 404)
    return { isRefused: true, reason: `it accepts no instances (HTTP 404)${said}` }
  const to = headers.location === undefined ? '' : '; redirects are not followed'
  return { isRefused: !isPassing, reason: `it answers with HTTP ${status}${said}${to}` }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === undefined || !/^\w{1,64}$/.test(code)) return cleanText(message, 200)
  return connectionAdvice(code)
}
