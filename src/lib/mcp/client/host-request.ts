import http, { type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { cleanText } from '../../util/text.ts'
import { collectBounded } from '../../util/bytes.ts'
import { ServiceError } from '../../util/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import { overdueMs as usuallyOverdueMs, overdueText } from '../bridge/http-link.ts'
import { hideSecrets, mayBeWord, type Secret } from '../../util/secret.ts'
import { describeSocketError } from '../bridge/bridge-errors.ts'
import { userAgent } from '../../util/version.ts'

/** The POST channel of the host link of a server on this machine (docs/host-link.md). */
export interface HostTarget {
  /** Ends in `/host`. */
  readonly url: URL
  readonly token: Secret
  readonly log: Logger
}

interface HostRequest {
  readonly method: 'POST' | 'DELETE'
  /** Relative to the URL of the target, such as `v1/artefacts`. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: AsyncIterable<Buffer>
  /** The request fails after this time without data. */
  readonly silenceMs: number
  /** A warning is printed after this time without an answer. */
  readonly overdueMs?: number
  readonly signal: AbortSignal
}

/** A note comes whole: up to 200 long entries, with a proof for each answer. */
const maxAnswerBytes = 16 * 1024 * 1024
const instancesHint = 'service-cli instances shows what runs here'

/** The body of a request with JSON, and its type. */
export function jsonBody(members: object): Pick<HostRequest, 'headers' | 'body'> {
  return {
    headers: { 'Content-Type': 'application/json' },
    body: Readable.from([Buffer.from(JSON.stringify(members))]),
  }
}

/** Sends a request and returns the answer. Rejects with `ServiceError`. */
export async function hostRequest(target: HostTarget, wanted: HostRequest): Promise<JsonObject> {
  const { method, path, headers = {}, body, silenceMs, signal } = wanted
  const { overdueMs = usuallyOverdueMs } = wanted
  const url = new URL(`${target.url.href.replace(/\/$/, '')}/${path}`)
  const req = http.request(url, {
    method,
    headers: {
      'User-Agent': userAgent,
      ...headers,
      Authorization: `Bearer ${target.token.reveal()}`,
    },
    // A kept-alive connection would delay the exit of the program.
    agent: false,
    signal,
  })
  let isLate = false
  req.setTimeout(silenceMs, () => {
    isLate = true
    req.destroy(new Error('timeout'))
  })
  const warn = () => target.log.warn({}, overdueText(url.host, overdueMs))
  const overdue = setTimeout(warn, overdueMs)
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    req.once('response', resolve)
    req.on('error', reject)
    // After a 101 there is neither.
    req.on('close', () => reject(new Error('it answered with another protocol')))
  })
  // Awaited below; prevents an unhandled rejection before that.
  answered.catch(() => {})
  try {
    await send(req, body, { answered, sent: () => void overdue.refresh() })
    const answer = await answered
    clearTimeout(overdue)
    return await readAnswer(answer, url.host, target.token)
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (signal.aborted) throw new ServiceError('cancelled', 'cancelled')
    if (isLate) throw timedOut(url, silenceMs)
    const clause = describeSocketError(error as NodeJS.ErrnoException)
    throw new ServiceError('network_failed', `${url.host} cannot be reached: ${clause}`, {
      cause: error,
      hint: instancesHint,
    })
  } finally {
    clearTimeout(overdue)
    req.destroy()
  }
}

function timedOut({ host }: URL, silenceMs: number): ServiceError {
  return new ServiceError('net_timeout', `no answer from ${host} within ${silenceMs / 1000} s`)
}

/** Sends the body; stops when the server answers early, which means that it refuses. */
async function send(
  req: http.ClientRequest,
  body: AsyncIterable<Buffer> | undefined,
  { answered, sent }: { answered: Promise<IncomingMessage>; sent: () => void },
): Promise<void> {
  let answeredEarly = false
  const end = answered.then(
    () => void (answeredEarly = true),
    () => void (answeredEarly = true),
  )
  for await (const chunk of body ?? []) {
    if (answeredEarly) return
    sent()
    if (req.write(chunk)) continue
    const drained = Promise.withResolvers<void>()
    req.once('drain', drained.resolve)
    await Promise.race([drained.promise, end])
    req.off('drain', drained.resolve)
  }
  if (!answeredEarly) req.end()
}

async function readAnswer(
  answer: IncomingMessage,
  host: string,
  token: Secret,
): Promise<JsonObject> {
  const { statusCode: status = 0 } = answer
  const isTaken = status >= 200 && status < 300
  const bytes = await collectBounded(answer, maxAnswerBytes)
  if (bytes === null && isTaken) {
    const message = `the answer of ${host} is larger than ${maxAnswerBytes} bytes`
    throw new ServiceError('network_failed', message, { hint: instancesHint })
  }
  const parsed = parseJson(bytes?.toString('utf8') ?? '', 64)
  const hidden = isTaken && mayBeWord(token) ? [] : [token]
  const shown = parsed.ok ? hideSecrets(parsed.value, hidden) : undefined
  const value = isJsonObject(shown) ? shown : {}
  if (isTaken) return value
  throw refusalOf(status, value, host)
}

function refusalOf(status: number, { code, detail, hint }: JsonObject, host: string): ServiceError {
  const said = typeof detail === 'string' ? cleanText(detail, 300) : `HTTP ${status}`
  const hints = typeof hint === 'string' ? { hint: cleanText(hint, 300) } : {}
  if (status === 401) {
    return new ServiceError('auth_refused', `the server does not accept the host token: ${said}`, {
      hint: 'the server may have restarted, or SERVICE_HOST_TOKEN belongs to another one',
    })
  }
  if (code === 'resource-not-found') return new ServiceError('resource_not_found', said, hints)
  if (status === 429) return new ServiceError('rate_limited', said, hints)
  if (status >= 500) {
    const text =
      typeof detail === 'string' ? `the server failed: ${said}` : `${host} failed with ${said}`
    return new ServiceError('storage_failed', text, hints)
  }
  return new ServiceError('request_refused', `the server refuses the request: ${said}`, hints)
}
