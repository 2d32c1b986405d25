import { randomUUID } from 'node:crypto'
import * as http from 'node:http'
import * as https from 'node:https'
import type { TLSSocket } from 'node:tls'
import { joinCloseCodes } from '../../lib/instances/join-wire.ts'
import { connectionReason, isTlsError } from '../../lib/util/connection-reason.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { proxyAgentOptions, proxyFor } from '../../lib/util/proxy.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import { userAgent } from '../../lib/util/version.ts'
import type { InstanceFacts } from './check-instance.ts'
import { timeoutMs } from './check-push.ts'
import { type Finding, finding } from './finding.ts'

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
  const name = `the joined gateway ${host}`
  try {
    const { status, validUntilMs } = await askReady(gateway, env)
    if (status !== 200) {
      const hint = 'check the address, and the log of the gateway'
      return finding(check, 'fail', `${name} is not ready (HTTP ${status})`, hint)
    }
    if (validUntilMs === null) return finding(check, 'ok', `${name} answers`)
    const days = Math.floor((validUntilMs - Date.now()) / dayMs)
    const summary = `${name} answers; its certificate is valid for ${days} days`
    if (days >= soonDays) return finding(check, 'ok', summary)
    return finding(check, 'warn', summary, 'have the certificate renewed')
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const reason = code === '' ? cleanText(messageOf(error), 200) : connectionReason(code)
    if (isTlsError(code)) {
      const hint = 'name the certificate authority of the studio in NODE_EXTRA_CA_CERTS'
      const summary = `the certificate of ${name} is not accepted: ${reason}`
      return finding(check, 'fail', summary, hint)
    }
    const hint = 'check the address, the network, the firewall, and that the gateway runs'
    return finding(check, 'fail', `${name} cannot be reached: ${reason}`, hint)
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
  const { connectLink } = await import('../../server/join/connect-link.ts')
  try {
    const token = await read()
    const link = await connectLink({
      gateway,
      token,
      instanceId: randomUUID(),
      received: () => {},
      signal: AbortSignal.timeout(timeoutMs),
    })
    link.close(joinCloseCodes.stopped, 'the check is done')
    return finding(check, 'ok', `the gateway ${host} accepts the token of serve --join`)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const summary = `the gateway ${host} cannot be joined: ${error.message}`
    if (error.code === 'request_refused') {
      const hint = 'make another token with service-cli token create NAME --scope instance'
      return finding(check, 'fail', summary, hint)
    }
    if (error.code === 'network_failed') {
      const hint = 'let a proxy in between pass WebSockets, and check --accept-joins of the gateway'
      return finding(check, 'fail', summary, hint)
    }
    return finding(check, 'fail', error.message, error.hint)
  }
}
