import { connectionReason, isTlsError } from '../util/connection-reason.ts'
import { errnoOf, type ErrorCode, ServiceError } from '../util/errors.ts'
import type { AccountsUrl } from '../config/accounts-url.ts'
import type { ProxyInUse } from './proxy.ts'

/**
 * What is kept of an error of the HTTP client: words of its code, nothing of its objects, which
 * hold the request with its token.
 */
interface FailureFacts {
  readonly code: string
  /** The host or address that could not be reached, when the error names one. */
  readonly host: string | null
  readonly port: string | null
}

/** Reads only plain texts and numbers, from the error and what it wraps. */
function readFailure(error: unknown): FailureFacts {
  const layers = layersOf(error)
  const text = (name: string) => {
    for (const layer of layers) {
      const value = name in layer ? (layer as Record<string, unknown>)[name] : undefined
      if (typeof value === 'string' || typeof value === 'number') return String(value)
    }
    return null
  }
  const wrapped = layers.findLast(layer => errnoOf(layer) !== null)
  const code = (wrapped === undefined ? null : errnoOf(wrapped)) ?? text('code') ?? 'unknown'
  return {
    code: /^[\w-]{1,64}$/.test(code) ? code : 'unknown',
    host: text('hostname') ?? text('address'),
    port: text('port'),
  }
}

/** The error and its causes, at most a few; the errors of several addresses count as one. */
function layersOf(error: unknown): object[] {
  const layers: object[] = []
  let layer: unknown = error
  while (typeof layer === 'object' && layer !== null && layers.length < 5) {
    layers.push(layer)
    const several = 'errors' in layer && Array.isArray(layer.errors) ? layer.errors[0] : undefined
    layer = several ?? ('cause' in layer ? layer.cause : undefined)
  }
  return layers
}

/** The kind of failure; the code of the one table that gives the exit code. */
function classifyFailure(facts: FailureFacts, proxy: ProxyInUse | null): ErrorCode {
  if (facts.code.startsWith('ERR_PROXY')) return 'proxy_failed'
  if (facts.code === 'ETIMEDOUT') return 'net_timeout'
  if (proxy !== null && proxy.hostname !== '' && facts.host === proxy.hostname) {
    return facts.port === null || proxy.port === '' || facts.port === proxy.port
      ? 'proxy_failed'
      : 'network_failed'
  }
  return 'network_failed'
}

/** The error of the HTTP client as ours: made from facts, with nothing of the original in it. */
export function describeTransportFailure(
  error: unknown,
  { url, origin }: AccountsUrl,
  proxy: ProxyInUse | null,
): ServiceError {
  const facts = readFailure(error)
  const kind = classifyFailure(facts, proxy)
  const reason = connectionReason(facts.code)
  const through = proxy === null ? '' : `; ${describeProxy(proxy)}`
  const data = { registry: url, reason: facts.code }
  switch (kind) {
    case 'proxy_failed':
      return new ServiceError(kind, `the proxy on the way to ${origin} failed: ${reason}`, {
        hint: `check ${proxy === null ? 'the proxy variables' : `${proxy.variable} (${proxy.address})`}, or name the accounts server in NO_PROXY`,
        data,
      })
    case 'net_timeout':
      return new ServiceError(kind, `${origin} did not answer in time`, {
        hint: `try again${through}`,
        data,
      })
    default:
      return new ServiceError('network_failed', `${origin} cannot be reached: ${reason}`, {
        hint: `check ${isTlsError(facts.code) ? certificate : 'the address and your network'}${through}`,
        data,
      })
  }
}

const certificate =
  'the address and its certificate; ca_file in the configuration names a private authority'

function describeProxy({ used, variable, address }: ProxyInUse): string {
  return used
    ? `${variable} (${address}) is in use`
    : `${variable} is no address that begins with http:// or https://, so no proxy was used`
}
