import { request } from 'node:http'
import type { LookupFunction } from 'node:net'
import { withoutBrackets } from '../../lib/util/address.ts'
import { errnoOf } from '../../lib/util/errno.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import type { Timer } from '../../lib/util/timer.ts'
import { durationText } from './duration-text.ts'
import type { DirectoryRecord } from './instance-directory.ts'
import type { GatewayLimits } from '../../lib/config/gateway-limits.ts'
import { userAgent } from '../../lib/util/user-agent.ts'

export type ProbeLimits = Pick<GatewayLimits, 'probeTimeoutMs' | 'maxProbeAnswerBytes'>

/**
 * Where to ask an instance whether it is ready, or why it is not asked. Its record may hold any
 * address: only one that is literally of this machine is ever called, and only `/readyz` of it.
 */
export function probeUrl(
  record: Pick<DirectoryRecord, 'mcpUrl' | 'mcpUrlIsLoopback' | 'localUrl' | 'hostname'>,
  hostname: string,
): Result<URL, string> {
  // Its 127.0.0.1 is not ours.
  if (record.hostname !== hostname) return fail('it runs on another machine')
  const { mcpUrl, mcpUrlIsLoopback, localUrl } = record
  const isPlain = mcpUrlIsLoopback && mcpUrl.startsWith('http:')
  if (isPlain) return ok(new URL('/readyz', mcpUrl))
  // Behind a proxy, or with a certificate that nobody here knows, it still has its local address.
  if (localUrl !== null) return ok(new URL('/readyz', localUrl))
  if (!mcpUrlIsLoopback) return fail('its address is not one of this machine alone')
  return fail('its address is not an http one')
}

export interface AskParts {
  readonly limits: ProbeLimits
  readonly timer: Timer
  /** Nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}

/** `GET` once, no redirect followed. The failure is a few words for people; never rejects. */
export function askReady(
  url: URL,
  { limits, timer, signal }: AskParts,
): Promise<Result<null, string>> {
  return new Promise(resolve => {
    let bytes = 0
    const asking = request({
      host: withoutBrackets(url.hostname),
      port: url.port || 80,
      path: url.pathname,
      // A connection of its own: that one is accepted is part of the answer.
      agent: false,
      headers: { accept: 'application/json', 'user-agent': userAgent },
      lookup: loopbackOnly,
      ...(signal === undefined ? {} : { signal }),
    })
    const settle = (result: Result<null, string>) => {
      cancel()
      asking.destroy()
      resolve(result)
    }
    const cancel = timer.after(limits.probeTimeoutMs, () =>
      settle(fail(`no answer within ${durationText(limits.probeTimeoutMs)}`)),
    )
    asking.on('error', error => settle(fail(reasonOf(error, url))))
    asking.once('response', response => {
      const status = response.statusCode ?? 0
      const result = status === 200 ? ok(null) : fail(`/readyz answered ${status}`)
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > limits.maxProbeAnswerBytes) settle(result)
      })
      response.once('end', () => settle(result))
      response.on('error', error => settle(fail(reasonOf(error, url))))
    })
    asking.once('upgrade', () => settle(fail('/readyz answered with another protocol')))
    asking.end()
  })
}

/** `localhost` is what it should be, whatever a resolver makes of it. */
const loopbackOnly: LookupFunction = (_name, options, found) => {
  const all = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  if (options.all === true) found(null, all)
  else found(null, '127.0.0.1', 4)
}

function reasonOf(error: Error, url: URL): string {
  const code = errnoOf(error) ?? ('code' in error ? String(error.code) : 'unknown error')
  if (code === 'ECONNREFUSED') return `nothing listens at ${url.host}`
  if (code === 'ECONNRESET') return `the connection to ${url.host} was cut`
  if (code.startsWith('HPE_')) return `what answers at ${url.host} does not speak HTTP`
  return `${url.host} cannot be asked (${code})`
}
