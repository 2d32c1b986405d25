import type { Agent, IncomingMessage, RequestOptions } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { getCACertificates } from 'node:tls'
import { type Clock, systemClock } from '../util/time.ts'
import { type ErrorCode, readProblem, ServiceError } from '../util/errors.ts'
import { parseJson } from '../util/json.ts'
import { collectBounded, readBounded } from '../util/bytes.ts'
import { proxyEnv } from '../util/net.ts'
import type { Logger } from '../util/logger.ts'
import { overdueMs, overdueText } from '../util/overdue.ts'
import { userAgent } from '../util/version.ts'
import type { Secret } from '../util/secret.ts'
import type { ClientLimits } from './client-limits.ts'
import { refuseExposed, type AccountsUrl } from '../config/accounts-url.ts'
import { proxyOf } from './proxy.ts'
import { describeTransportFailure } from './transport-failure.ts'

/**
 * One request to the accounts server that the transport was made for; `path` is below its address.
 */
export interface AccountsRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: `/${string}`
  readonly bearer?: Secret
  /** Opened only when it is sent: texts of it may be secret. */
  readonly body?: () => object
}

/** Any answer, whatever its status. */
export interface AccountsAnswer {
  readonly status: number
  /** Parsed JSON, or undefined when the body is empty or none. */
  readonly json: unknown
  readonly retryAfterMs: number | null
  /** The origin that the Location header names, or null. */
  readonly redirectsTo: string | null
}

/** Sends to one accounts server alone: a token given to it cannot reach another address. */
export interface Transport {
  readonly server: AccountsUrl
  /** Throws a `ServiceError` of the network; it holds nothing of the request. */
  send(request: AccountsRequest): Promise<AccountsAnswer>
}

export interface TransportOptions {
  readonly server: AccountsUrl
  readonly limits: ClientLimits
  /** For the proxy variables. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** A file of certificates (PEM) to trust beside the usual ones. */
  readonly caFile?: string
  /** Told of an answer that takes long. Default: none. */
  readonly log?: Logger
  readonly clock?: Clock
  readonly pause?: (ms: number) => Promise<unknown>
}

// To import them makes Node load undici for some members: a tenth of the time of a short command.
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

/** The certificates of every authority that browsers trust are a quarter of that. */
const maxCaBytes = 1024 * 1024

/** Throws `usage_invalid` for plain http to another machine. */
export function createTransport(options: TransportOptions): Transport {
  const { server, limits, env, caFile, clock = systemClock, pause = sleep } = options
  refuseExposed(server)
  const proxy = proxyOf(server, env)
  const { Agent, request: open } = server.url.startsWith('https:') ? https : http
  const agent: Agent = new Agent(proxy === null ? {} : { proxyEnv: proxyEnv(env) })

  async function send(request: AccountsRequest): Promise<AccountsAnswer> {
    const ca = caFile === undefined ? undefined : await readCa(caFile)
    for (let retries = 0; ; retries++) {
      const outcome = await exchange(request, ca).catch((error: unknown) =>
        error instanceof ServiceError ? error : describeTransportFailure(error, server, proxy),
      )
      const delayMs = retryDelayMs(request.method, retries, outcome, limits)
      if (delayMs !== null) await pause(delayMs)
      else if (outcome instanceof ServiceError) throw outcome
      else return outcome
    }
  }

  async function exchange(
    { method, path, bearer, body }: AccountsRequest,
    ca: string[] | undefined,
  ): Promise<AccountsAnswer> {
    const text = body === undefined ? '' : JSON.stringify(body())
    const outgoing: RequestOptions = {
      agent,
      method,
      ...(ca === undefined ? {} : { ca }),
      // Ends the connection to a proxy that does not answer.
      timeout: limits.connectTimeoutMs,
      headers: {
        Accept: 'application/json, application/problem+json',
        'User-Agent': userAgent,
        ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer.reveal()}` }),
        ...(text === '' ? {} : { 'Content-Type': 'application/json' }),
      },
    }
    const req = open(server.url + path, outgoing)
    const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    req.on('response', resolve).on('error', reject)
    // After a 101 there is neither.
    req.on('close', () => reject(failure('ECONNRESET')))
    let isLate = false
    const giveUp = () => {
      isLate = true
      // While a proxy is asked for a connection, `destroy` alone has no event.
      reject(failure('ETIMEDOUT'))
      req.destroy()
    }
    const timers = [
      setTimeout(() => req.socket?.connecting !== false && giveUp(), limits.connectTimeoutMs),
      setTimeout(giveUp, limits.requestTimeoutMs),
    ]
    const { host } = new URL(server.url)
    const overdue = setTimeout(() => options.log?.warn({}, overdueText(host)), overdueMs)
    try {
      req.end(text)
      const answer = await answered
      clearTimeout(overdue)
      const { statusCode: status = 0, headers } = answer
      return {
        status,
        json: readJson(await readText(answer, server, limits), limits),
        retryAfterMs: parseRetryAfter(headers['retry-after'], clock.now()),
        redirectsTo: targetOf(headers.location, server),
      }
    } catch (error) {
      throw isLate ? failure('ETIMEDOUT') : error
    } finally {
      for (const timer of [...timers, overdue]) clearTimeout(timer)
      req.destroy()
    }
  }

  return { server, send }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}

async function readText(
  stream: AsyncIterable<Uint8Array>,
  { origin }: AccountsUrl,
  { maxAnswerBytes }: ClientLimits,
): Promise<string> {
  const bytes = await collectBounded(stream, maxAnswerBytes)
  if (bytes !== null) return bytes.toString('utf8')
  throw new ServiceError(
    'registry_answer_invalid',
    `the answer of ${origin} is larger than ${maxAnswerBytes} bytes`,
    { hint: 'check that the address is that of an accounts server' },
  )
}

function readJson(text: string, { maxAnswerDepth }: ClientLimits): unknown {
  const parsed = parseJson(text, maxAnswerDepth)
  return parsed.ok ? parsed.value : undefined
}

function targetOf(location: string | undefined, { url }: AccountsUrl): string | null {
  return location === undefined ? null : (URL.parse(location, url)?.origin ?? null)
}

async function readCa(path: string): Promise<string[]> {
  const unusable = (what: string) =>
    new ServiceError('config_invalid', `ca_file ${path} ${what}`, {
      hint: 'name a file of certificates in PEM form',
    })
  const read = await readBounded(path, maxCaBytes).catch(error => {
    throw unusable(`cannot be read: ${readProblem(error)}`)
  })
  if (!read.ok) throw unusable(`cannot be used: ${read.failure}`)
  const text = read.value.toString('utf8')
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw unusable('holds no certificate')
  return [...getCACertificates('default'), text]
}

/** How an attempt ended, as far as it matters for another one. */
export type Attempt =
  | { readonly status: number; readonly retryAfterMs: number | null }
  | { readonly code: ErrorCode; readonly retryAfterMs?: null }

const passing = new Set([502, 503, 504])

/**
 * Returns the milliseconds to wait before a retry, or null for none. Only GET is retried: any other
 * request may already have taken effect (a password tried twice counts twice). A request that timed
 * out is not retried either: it has already used all its time.
 */
export function retryDelayMs(
  method: string,
  retriesDone: number,
  attempt: Attempt,
  limits: ClientLimits,
): number | null {
  if (method !== 'GET' || retriesDone >= limits.maxRetries) return null
  const backoffMs = limits.retryDelayMs * 2 ** retriesDone
  if ('code' in attempt) return attempt.code === 'network_failed' ? backoffMs : null
  const { status, retryAfterMs } = attempt
  if (status !== 429 && !passing.has(status)) return null
  if (retryAfterMs === null) return backoffMs
  return retryAfterMs <= limits.maxRetryAfterMs ? retryAfterMs : null
}

/** `Retry-After` (RFC 9110, section 10.2.3): seconds or a date. Null when it is neither. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null
  const text = value.trim()
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  if (!/^[A-Za-z]{3},/.test(text)) return null
  const timeMs = Date.parse(text)
  return Number.isNaN(timeMs) ? null : Math.max(0, timeMs - nowMs)
}
