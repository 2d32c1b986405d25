import * as http from 'node:http'
import * as https from 'node:https'
import type { TLSSocket } from 'node:tls'
import { connectionReason, isTlsError } from '../../lib/util/connection-reason.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { proxyAgentOptions, proxyFor } from '../../lib/util/proxy.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import { userAgent } from '../../lib/util/version.ts'
import type { InstanceFacts } from './check-instance.ts'
import { timeoutMs } from './check-push.ts'
import type { Finding } from './finding.ts'

const dayMs = 24 * 60 * 60 * 1000
const soonDays = 14

/** Checks each gateway that a running instance joins: its certificate, and the token if one is given. */
export async function checkJoinedGateways(
  instances: InstanceFacts[],
  token: (() => Promise<Secret>) | null,
  env: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const gateways = [...new Set(instances.flatMap(each => each.gateways))]
  const found = gateways.map(async gateway => {
    const reached = await checkAddress(gateway, env)
    if (reached.status === 'fail' || token === null) return [reached]
    return [reached, await checkToken(gateway, token)]
  })
  return (await Promise.all(found)).flat()
}

/** Whether the gateway answers, with a certificate that is accepted here. */
async function checkAddress(gateway: string, env: NodeJS.ProcessEnv): Promise<Finding> {
  const { host } = new URL(gateway)
  const check = `gateway_${host}`
  try {
    const { status, validUntilMs } = await askReady(gateway, env)
    if (status !== 200) {
      const summary = `the joined gateway ${host} is not ready (HTTP ${status})`
      return {
        check,
        status: 'fail',
        summary,
        hint: 'check the address, and the log of the gateway',
      }
    }
    const answers = `the joined gateway ${host} answers`
    if (validUntilMs === null) return { check, status: 'ok', summary: answers }
    const days = Math.floor((validUntilMs - Date.now()) / dayMs)
    const summary = `${answers}; its certificate is valid for ${days} days`
    if (days >= soonDays) return { check, status: 'ok', summary }
    return { check, status: 'warn', summary, hint: 'have the certificate renewed' }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const reason = code === '' ? cleanText(messageOf(error), 200) : connectionReason(code)
    if (isTlsError(code)) {
      const summary = `the certificate of the joined gateway ${host} is not accepted: ${reason}`
      const hint = 'name the certificate authority of the studio in NODE_EXTRA_CA_CERTS'
      return { check, status: 'fail', summary, hint }
    }
    const summary = `the joined gateway ${host} cannot be reached: ${reason}`
    const hint = 'check the address, the network, the firewall, and that the gateway runs'
    return { check, status: 'fail', summary, hint }
  }
}

/** `validUntilMs`: of the certificate; null without TLS. */
function askReady(
  gateway: string,
  env: NodeJS.ProcessEnv,
): Promise<{ status: number; validUntilMs: number | null }> {
  const url = new URL(`${gateway}/readyz`)
  const { get, Agent } = url.protocol === 'https:' ? https : http
  const agent = new Agent(proxyAgentOptions(proxyFor(url, env)))
  const headers = { 'User-Agent': userAgent }
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    get(url, { agent, headers, signal }, answer => {
      const { statusCode: status = 0, socket } = answer
      const isSecure = 'getPeerCertificate' in socket
      const until = isSecure ? (socket as TLSSocket).getPeerCertificate().valid_to : null
      answer.destroy()
      resolve({ status, validUntilMs: until === null ? null : Date.parse(until) })
    }).on('error', error =>
      reject(signal.aborted ? new Error(`no answer within ${timeoutMs} ms`) : error),
    )
  })
}

/** Opens a link and closes it before the instance is listed. */
async function checkToken(gateway: string, read: () => Promise<Secret>): Promise<Finding> {
  const { host } = new URL(gateway)
  const check = `join_${host}`
  const [{ connectLink }, { joinDefaults }] = await Promise.all([
    import('../../server/join/connect-link.ts'),
    import('../../server/join/limits.ts'),
  ])
  try {
    const token = await read()
    const stop = new AbortController()
    const late = setTimeout(() => stop.abort(), timeoutMs)
    let isAccepted = false
    const { isRefused, reason } = await connectLink({
      gateway,
      token,
      limits: joinDefaults,
      signal: stop.signal,
      opened(stream) {
        stream.once('data', () => {
          isAccepted = true
          stop.abort()
        })
      },
    })
    clearTimeout(late)
    if (isAccepted) {
      return {
        check,
        status: 'ok',
        summary: `the gateway ${host} accepts the token of serve --join`,
      }
    }
    const why = stop.signal.aborted ? 'nothing came through the link in time' : reason
    const hint = isRefused
      ? 'make another token with service-cli token create NAME --scope instance'
      : 'let a proxy in between pass WebSockets, and check --accept-joins of the gateway'
    return { check, status: 'fail', summary: `the gateway ${host} cannot be joined: ${why}`, hint }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { check, status: 'fail', summary: error.message, hint: error.hint }
  }
}
