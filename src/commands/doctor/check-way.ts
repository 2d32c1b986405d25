import * as http from 'node:http'
import * as https from 'node:https'
import type { TLSSocket } from 'node:tls'
import { createClientContext } from '../../lib/mcp/client/context.ts'
import { failureOf } from '../../lib/mcp/client/failure.ts'
import { defaultMcpClientLimits } from '../../lib/mcp/client/limits.ts'
import { metaKeys } from '../../lib/mcp/request-metadata.ts'
import { openStateless } from '../../lib/mcp/client/stateless-transport.ts'
import { isLoopback, proxyEnv } from '../../lib/util/address.ts'
import { collectBounded } from '../../lib/util/bytes.ts'
import { connectionReason, isTlsError } from '../../lib/util/connection-reason.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/util/json.ts'
import { silentLogger } from '../../lib/util/logger.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { systemTimer } from '../../lib/util/time.ts'
import { cleanText } from '../../lib/util/text.ts'
import { userAgent, version } from '../../lib/util/version.ts'
import type { Finding } from './finding.ts'

const timeoutMs = 5000
const maxBodyBytes = 16 * 1024
/** Servers that check tokens accept less. */
const maxClockSeconds = 30
const soonMs = 14 * 24 * 60 * 60 * 1000
const dayMs = 24 * 60 * 60 * 1000

interface Way {
  /** The address of the gateway, without `/mcp`. */
  readonly gateway: string
  readonly apiKey: Secret | null
  /** The token of `serve --join`; null: none is configured. */
  readonly joinToken: (() => Promise<Secret>) | null
  readonly env: NodeJS.ProcessEnv
}

/** Checks the way from this machine to a gateway. Joins nothing and changes nothing. */
export async function checkWay(way: Way): Promise<Finding[]> {
  const probed = await probe(way)
  if (!('answer' in probed)) return [probed.failed]
  const { answer } = probed
  const findings = await Promise.all([
    judgeAddress(way, answer),
    judgeTls(answer),
    judgeReady(answer),
    judgeClock(answer),
    checkSubscription(way),
    checkJoin(way),
  ])
  return findings
}

/** The answer of `/readyz`. */
export interface Ready {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
  /** Of the gateway, or of the proxy on the way. */
  readonly address: string
  readonly tls: { readonly protocol: string; readonly untilMs: number } | null
  readonly askedMs: number
  readonly answeredMs: number
}

async function probe(way: Way): Promise<{ readonly answer: Ready } | { readonly failed: Finding }> {
  const { hostname } = new URL(way.gateway)
  try {
    return { answer: await askReady(way) }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const isTls = isTlsError(code)
    const reason = code === '' ? cleanText(messageOf(error), 200) : connectionReason(code)
    const check = isTls ? 'gateway_tls' : 'gateway_address'
    const summary = `${hostname} cannot be reached: ${reason}`
    const hint = isTls
      ? 'name the certificate authority of the studio in NODE_EXTRA_CA_CERTS'
      : 'check the address, the network, the firewall, and that the gateway runs'
    return { failed: { check, status: 'fail', summary, hint } }
  }
}

function askReady({ gateway, env }: Way): Promise<Ready> {
  const url = new URL(`${gateway}/readyz`)
  const isSecure = url.protocol === 'https:'
  const options = isLoopback(url.hostname) ? {} : { proxyEnv: proxyEnv(env) }
  const agent = isSecure ? new https.Agent(options) : new http.Agent(options)
  const askedMs = Date.now()
  return new Promise((resolve, reject) => {
    const request = (isSecure ? https : http).get(
      url,
      { agent, headers: { 'User-Agent': userAgent }, signal: AbortSignal.timeout(timeoutMs) },
      answer => {
        const answeredMs = Date.now()
        const { statusCode: status = 0, headers, socket } = answer
        const tls = isSecure ? factsOf(socket as TLSSocket) : null
        const address = socket.remoteAddress ?? ''
        collectBounded(answer, maxBodyBytes)
          .then(bytes => bytes?.toString() ?? '')
          .then(body => resolve({ status, headers, body, address, tls, askedMs, answeredMs }))
          .catch(reject)
      },
    )
    request.on('error', error =>
      reject(error.name === 'TimeoutError' ? new Error(`no answer within ${timeoutMs} ms`) : error),
    )
  })
}

function factsOf(socket: TLSSocket): Ready['tls'] {
  const { valid_to: until } = socket.getPeerCertificate()
  return { protocol: socket.getProtocol() ?? 'TLS', untilMs: Date.parse(until) }
}

function judgeAddress({ gateway, env }: Way, { address, askedMs, answeredMs }: Ready): Finding {
  const { hostname } = new URL(gateway)
  const names = Object.keys(proxyEnv(env)).filter(name => /^https?_proxy$/i.test(name))
  const proxied = names.length > 0 && !isLoopback(hostname)
  const details = proxied ? [`${names.join(', ')} is set: the gateway is reached through it`] : []
  const where = address === '' || address === hostname ? hostname : `${hostname} (${address})`
  const summary = `${where} answers in ${answeredMs - askedMs} ms`
  return { check: 'gateway_address', status: 'ok', summary, details }
}

export function judgeTls({ tls, answeredMs }: Pick<Ready, 'tls' | 'answeredMs'>): Finding {
  const check = 'gateway_tls'
  if (tls === null) {
    return { check, status: 'ok', summary: 'no TLS, which is safe on this machine only' }
  }
  const left = Math.floor((tls.untilMs - answeredMs) / dayMs)
  const summary = `${tls.protocol}; the certificate is accepted and valid for ${left} days`
  if (tls.untilMs - answeredMs > soonMs) return { check, status: 'ok', summary }
  return { check, status: 'warn', summary, hint: 'renew the certificate of the gateway' }
}

export function judgeReady({ status, headers, body }: Ready): Finding {
  const check = 'gateway_ready'
  const hint = 'check the address, and what the log of the gateway says'
  const { server, via, location } = headers
  const proxy = server ?? via
  const details =
    proxy === undefined ? [] : [`a proxy is in between: ${cleanText(String(proxy), 60)}`]
  const fail = (summary: string): Finding => ({ check, status: 'fail', summary, details, hint })
  if (location !== undefined) return fail(`/readyz is redirected; redirects are not followed`)
  const parsed = parseJson(body, 8)
  const facts: JsonObject = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}
  const said = facts['status']
  if (status !== 200) {
    const known = said === 'starting' ? 'it is starting' : `HTTP ${status}`
    return fail(`the gateway is not ready: ${known}`)
  }
  if (said !== 'ready') return fail('another program answers at this address')
  const troubles = troublesOf(facts, [])
  if (troubles.length === 0) {
    return { check, status: 'ok', summary: 'the gateway is ready', details }
  }
  const summary = 'the gateway is ready, but misses something that it uses'
  return { check, status: 'warn', summary, details: [...details, ...troubles], hint }
}

/** What has failed in it, at any depth. */
function troublesOf(facts: JsonObject, path: string[]): string[] {
  const { state, reason } = facts
  if (state === 'away') {
    const words = typeof reason === 'string' ? `: ${cleanText(reason, 200)}` : ''
    return [`${path.join(' ')} does not answer${words}`]
  }
  return Object.entries(facts).flatMap(([name, value]) =>
    isJsonObject(value) ? troublesOf(value, [...path, cleanText(name, 40)]) : [],
  )
}

export function judgeClock({
  headers,
  askedMs,
  answeredMs,
}: Pick<Ready, 'headers' | 'askedMs' | 'answeredMs'>): Finding {
  const check = 'gateway_clock'
  const theirMs = Date.parse(headers.date ?? '')
  if (Number.isNaN(theirMs)) {
    return { check, status: 'ok', summary: 'the gateway does not say its time: not compared' }
  }
  // Whole seconds, rounded down.
  const seconds = Math.round((theirMs + 500 - (askedMs + answeredMs) / 2) / 1000)
  if (Math.abs(seconds) <= maxClockSeconds) {
    return { check, status: 'ok', summary: 'the clocks of this machine and the gateway agree' }
  }
  const summary = `the clock of the gateway is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} this one`
  const hint = 'set both by a time server: times, and tokens that expire, are judged by them'
  return { check, status: 'warn', summary, hint }
}

/** Opens a client of the gateway, with the key only when it is asked for one. */
async function checkSubscription(way: Way): Promise<Finding> {
  const check = 'gateway_client'
  for (const key of way.apiKey === null ? [null] : [null, way.apiKey]) {
    try {
      const theirs = await subscribe(way, key)
      const used = key === null ? 'asks for no key' : 'accepts SERVICE_MCP_API_KEY'
      const summary = `the gateway (version ${theirs}; this is ${version}) ${used}; subscriptions work`
      return { check, status: 'ok', summary }
    } catch (error) {
      const { code, message } = error as ServiceError
      if (code === 'auth_required' && key === null) continue
      if (code === 'auth_required' || code === 'auth_refused') {
        const summary = 'the gateway refuses the key in SERVICE_MCP_API_KEY'
        const hint = 'set it to a key or token of the gateway'
        return { check, status: 'fail', summary, hint }
      }
      const isHeld = code === 'net_timeout'
      const hint = isHeld
        ? 'a proxy in between may hold event streams back: switch its buffering off'
        : 'check the log of the gateway, and the address'
      return { check, status: 'fail', summary: `clients do not work: ${message}`, hint }
    }
  }
  const hint = 'set SERVICE_MCP_API_KEY to a key or token of the gateway to test it too'
  return { check, status: 'ok', summary: 'the gateway requires a key or token', hint }
}

/** Resolves with the version of the gateway when the first event of a stream has arrived. */
async function subscribe({ gateway, env }: Way, key: Secret | null): Promise<string> {
  const url = new URL(`${gateway}/mcp`)
  const limits = { ...defaultMcpClientLimits, standMs: timeoutMs }
  const parts = { key, env, limits, timer: systemTimer, log: silentLogger }
  const context = createClientContext(parts)
  const signal = AbortSignal.timeout(2 * timeoutMs)
  try {
    const opened = await openStateless(context, url, signal)
    if (!opened.ok) {
      const { maxAnswerBytes } = limits
      const facts = { url, method: 'server/discover', keyed: key !== null, maxAnswerBytes }
      throw failureOf(opened.failure, facts)
    }
    const session = opened.value
    const { _meta: meta } = await session.request('server/discover', {}, signal)
    await session.subscribe('gateway://instances', () => {}, signal)
    await session.close()
    const info = isJsonObject(meta) ? meta[metaKeys.serverInfo] : null
    const theirs = isJsonObject(info) ? info['version'] : null
    return typeof theirs === 'string' ? cleanText(theirs, 40) : 'unknown'
  } catch (error) {
    if (!signal.aborted) throw error
    throw new ServiceError('net_timeout', `no answer within ${timeoutMs} ms`)
  } finally {
    context.link.close()
  }
}

/** Opens a link and closes it when the first bytes of the gateway have come. */
async function checkJoin({ gateway, joinToken }: Way): Promise<Finding> {
  const check = 'gateway_join'
  if (joinToken === null) {
    const summary = 'no token of serve --join is configured: joining was not tested'
    const hint = 'name it with --join-token-file or SERVICE_JOIN_TOKEN'
    return { check, status: 'ok', summary, hint }
  }
  const [{ connectLink }, { defaultLimits }] = await Promise.all([
    import('../../server/join/connect-link.ts'),
    import('../../lib/config/limits.ts'),
  ])
  try {
    const token = await joinToken()
    const stop = new AbortController()
    const progress = { isOpen: false, hasBytes: false }
    const late = setTimeout(() => stop.abort(), 2 * timeoutMs)
    const { reason, isTokenRefused } = await connectLink({
      gateway,
      token,
      limits: defaultLimits,
      signal: stop.signal,
      opened: stream => {
        progress.isOpen = true
        stream.once('data', () => {
          progress.hasBytes = true
          stop.abort()
        })
      },
    })
    clearTimeout(late)
    if (progress.hasBytes) {
      const summary = 'the gateway accepts the token of serve --join, and the link carries data'
      return { check, status: 'ok', summary }
    }
    if (!progress.isOpen) {
      const summary = `the gateway cannot be joined: ${stop.signal.aborted ? 'no answer in time' : reason}`
      const hint =
        isTokenRefused === true
          ? 'make another token with service-cli token create NAME --scope instance'
          : 'check --accept-joins of the gateway; a proxy has to pass WebSockets'
      return { check, status: 'fail', summary, hint }
    }
    const summary = stop.signal.aborted
      ? 'the WebSocket to the gateway opens, but nothing comes through it'
      : `the WebSocket to the gateway opens, and is cut: ${reason}`
    const hint = 'let the proxy in between pass WebSockets unbuffered and without a time limit'
    return { check, status: 'fail', summary, hint }
  } catch (error) {
    const { hint = 'name a file with the token' } = error as ServiceError
    return { check, status: 'fail', summary: messageOf(error), hint }
  }
}
