import http, { type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { collectBounded } from '../../util/bytes.ts'
import { ServiceError } from '../../util/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../util/json.ts'
import type { Logger } from '../../util/logger.ts'
import { refuseForeignListeners } from '../../util/net.ts'
import type { Secret } from '../../util/secret.ts'
import { cleanText } from '../../util/text.ts'
import { userAgent } from '../../util/version.ts'
import { describeSocketError, foreignListener, Unreachable } from '../bridge/bridge-errors.ts'
import { answerMs } from './call.ts'

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
  /** Sent as JSON; bytes as they are. */
  readonly body?: object | Readable
  /** The type of the bytes. */
  readonly type?: string
  readonly signal?: AbortSignal
}

/** Without data for this time, a line says that the command still waits. */
const overdueMs = 5000
/** A note comes whole: up to 200 long entries, with a proof for each answer. */
const maxAnswerBytes = 16 * 1024 * 1024
const hint = 'service-cli instances shows what runs here'

/** Sends a request and returns the answer. Rejects with `ServiceError`. */
export async function hostRequest(
  { url: { href, host }, token, log }: HostTarget,
  { method, path, body, type = 'application/json', signal }: HostRequest,
): Promise<JsonObject> {
  const agent = new http.Agent()
  refuseForeignListeners(agent, () => foreignListener(host))
  const req = http.request(`${href.replace(/\/$/, '')}/${path}`, {
    method,
    agent,
    signal,
    headers: {
      'User-Agent': userAgent,
      'Content-Type': type,
      Authorization: `Bearer ${token.reveal()}`,
    },
  })
  req.setTimeout(overdueMs, () => {
    log.warn({}, `still waiting for ${host}, which has not answered for ${overdueMs / 1000} s`)
    req.setTimeout(answerMs, () => req.destroy(new Unreachable('it does not answer')))
  })
  try {
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      req.once('response', resolve).on('error', reject)
    })
    if (body instanceof Readable) body.once('error', error => req.destroy(error)).pipe(req)
    else req.end(JSON.stringify(body))
    const answer = await answered
    // An answer before the end of the body is a refusal.
    if (body instanceof Readable) body.unpipe(req)
    return await readAnswer(answer, host)
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    if (signal?.aborted) throw new ServiceError('cancelled', 'cancelled')
    const reason =
      cause instanceof Unreachable
        ? cause.message
        : describeSocketError(cause as NodeJS.ErrnoException)
    throw new ServiceError('network_failed', `${host} cannot be reached: ${reason}`, {
      cause,
      hint,
    })
  } finally {
    agent.destroy()
  }
}

async function readAnswer(answer: IncomingMessage, host: string): Promise<JsonObject> {
  const { statusCode: status = 0 } = answer
  const bytes = await collectBounded(answer, maxAnswerBytes)
  const parsed = parseJson(bytes?.toString('utf8') ?? '', 64)
  const value = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  if (status >= 200 && status < 300) return value
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
    return new ServiceError('storage_failed', `the server at ${host} failed: ${said}`, hints)
  }
  return new ServiceError('request_refused', `the server refuses the request: ${said}`, hints)
}
