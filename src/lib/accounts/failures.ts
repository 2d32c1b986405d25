import { HTTPError, ParseError, type RequestError, type Response } from 'got'
import { z } from 'zod'
import type { AccountsUrl } from '../config/accounts-url.ts'
import { connectionReason, isTlsError } from '../util/connection-reason.ts'
import { type ErrorCode, ServiceError } from '../util/errors.ts'
import type { Proxy } from '../util/proxy.ts'
import { hideSecrets, type Secret } from '../util/secret.ts'
import { cleanText } from '../util/text.ts'
import { wrongLogin } from './protocol.ts'
import * as wire from './wire.ts'

/** The error of got as ours. Its other members hold the request with its token: none is kept. */
export function describeFailure(
  error: RequestError,
  server: AccountsUrl,
  proxy: Proxy | null,
): ServiceError {
  const secrets = error.options.context['secrets'] as Secret[]
  if (error instanceof HTTPError) return describeRefusal(error.response, server, secrets)
  if (error instanceof ParseError) return answerInvalid(server)
  const { code } = error
  const { origin } = server
  const reason = connectionReason(code)
  const data = { registry: server.url, reason: code }
  const used = proxy === null ? '' : `${proxy.variable} (${proxy.url.origin})`
  const through = proxy === null ? '' : `; ${used} is in use`
  if (code === 'ETIMEDOUT') {
    const hint = `try again${through}`
    return new ServiceError('net_timeout', `${origin} did not answer in time`, { hint, data })
  }
  // Nothing but the proxy is connected to; beyond it TLS fails, or a connection is cut.
  if (proxy !== null && !isTlsError(code) && code !== 'ECONNRESET') {
    const hint = `check ${used}, or name the accounts server in NO_PROXY`
    const message = `the proxy on the way to ${origin} failed: ${reason}`
    return new ServiceError('proxy_failed', message, { hint, data })
  }
  const suspect = isTlsError(code)
    ? 'the address and its certificate; ca_file in the configuration names a private authority'
    : 'the address and your network'
  const hint = `check ${suspect}${through}`
  return new ServiceError('network_failed', `${origin} cannot be reached: ${reason}`, {
    hint,
    data,
  })
}

export function answerInvalid({ origin }: AccountsUrl): ServiceError {
  const message = `the answer of ${origin} is not that of an accounts server`
  return new ServiceError('registry_answer_invalid', message, {
    hint: 'check the address of the accounts server',
  })
}

/** Other servers say the reason in other members than `detail`. */
const problem = wire.problem.extend({ message: z.string(), error: z.string() }).partial().catch({})

/** An answer that is no success. `secrets`: what was sent and must not come back in a message. */
export function describeRefusal(
  { statusCode: status, headers, body, request }: Response,
  { url, origin }: AccountsUrl,
  secrets: Secret[],
): ServiceError {
  const said = problem.parse(hideSecrets(body, secrets))
  // A password may be one of these words.
  if (problem.parse(body).detail === wrongLogin) said.detail = wrongLogin
  const errors = said.errors?.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`)
  const words = errors?.join('; ') ?? said.detail ?? said.message ?? said.error ?? said.title
  const reason = words === undefined ? `status ${status}` : cleanText(words)
  const code = codeOf(status)
  const data = { registry: url, status, detail: words, reason: said.code, errors: said.errors }
  const refuse = (message: string, hint?: string) =>
    new ServiceError(code, `${origin} ${message}`, { hint, data })

  if (status < 400) {
    const target = URL.parse(headers.location ?? '', url)?.origin
    const hint = `if it moved, use ${target ?? 'its new address'}`
    return refuse('redirects, and tokens are never sent to redirect targets', hint)
  }
  if (status === 405 || status === 501 || (status === 404 && said.code === undefined)) {
    const { method, url: asked } = request.options
    const path = new URL(String(asked)).pathname
    return refuse(`does not offer ${method} ${path}`, 'check the address of the accounts server')
  }
  if (code === 'registry_failed') return refuse(`failed: ${reason}`, 'try again later')
  if (code !== 'rate_limited') return refuse(`refused: ${reason}`)
  // The header may also hold a date.
  const seconds = Number(headers['retry-after'] ?? said.retry_after)
  const wait = seconds > 0 ? `${seconds} s` : 'a while'
  return refuse(`refused: ${reason}`, `wait ${wait}, then try again`)
}

function codeOf(status: number): ErrorCode {
  if (status === 401) return 'auth_refused'
  if (status === 429) return 'rate_limited'
  if (status === 408 || (status >= 500 && status !== 501)) return 'registry_failed'
  return status >= 400 ? 'request_refused' : 'registry_answer_invalid'
}
