import { randomUUID } from 'node:crypto'
import * as http from 'node:http'
import * as https from 'node:https'
import { joinCloseCodes } from '../../lib/instances/join-wire.ts'
import { connectionReason, isTlsError } from '../../lib/util/connection-reason.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { proxyAgentOptions, proxyFor } from '../../lib/util/proxy.ts'
import type { Secret } from '../../lib/util/secret.ts'
import { userAgent } from '../../lib/util/version.ts'
import { timeoutMs } from './check-instance.ts'
import { type Finding, finding } from './finding.ts'

/** Whether a gateway that an instance joins answers, with a certificate that is accepted here. */
export async function checkGateway(gateway: string, env: NodeJS.ProcessEnv): Promise<Finding> {
  const { default: got, RequestError } = await import('got')
  const agentOptions = proxyAgentOptions(proxyFor(new URL(gateway), env))
  const { host } = new URL(gateway)
  const name = `the joined gateway ${host}`
  const found = (status: Finding['status'], text: string, hint?: string): Finding =>
    finding(`gateway_${host}`, status, `${name} ${text}`, hint)
  try {
    await got(`${gateway}/readyz`, {
      agent: { http: new http.Agent(agentOptions), https: new https.Agent(agentOptions) },
      headers: { 'user-agent': userAgent },
      timeout: { request: timeoutMs },
      retry: { limit: 0 },
    })
    return found('ok', 'answers')
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    const { code, response } = error
    if (isTlsError(code)) {
      const hint = 'name the certificate authority of the studio in NODE_EXTRA_CA_CERTS'
      const what = `has a certificate that is not accepted: ${connectionReason(code)}`
      return found('fail', what, hint)
    }
    const hint = 'check the address, the network, the firewall, and the log of the gateway'
    if (response) return found('fail', `is not ready (HTTP ${response.statusCode})`, hint)
    return found('fail', `cannot be reached: ${connectionReason(code)}`, hint)
  }
}

/** Whether the gateway accepts the token: opens a link and closes it before the instance is listed. */
export async function checkJoinToken(
  gateway: string,
  read: () => Promise<Secret>,
): Promise<Finding> {
  const { host } = new URL(gateway)
  const { connectLink } = await import('../../server/join/connect-link.ts')
  try {
    const link = await connectLink({
      gateway,
      token: await read(),
      instanceId: randomUUID(),
      received: () => {},
      signal: AbortSignal.timeout(timeoutMs),
    })
    link.close(joinCloseCodes.stopped, 'the check is done')
    return finding(`join_${host}`, 'ok', `the gateway ${host} accepts the token of serve --join`)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const hint =
      error.code === 'request_refused'
        ? 'make another token with service-cli token create NAME --scope instance'
        : (error.hint ??
          'let a proxy in between pass WebSockets; check --accept-joins of the gateway')
    const summary = `the gateway ${host} cannot be joined: ${error.message}`
    return finding(`join_${host}`, 'fail', summary, hint)
  }
}
