import { ServiceError } from './errors.ts'
import { isInNetwork, isLoopback, parseNetwork, withoutBrackets } from './net.ts'

type Env = Readonly<Record<string, string | undefined>>

/** A proxy that an environment variable names. */
export interface Proxy {
  readonly variable: string
  /** May hold a user name and a password. */
  readonly url: URL
}

/**
 * The proxy for an address, of `https_proxy`, `http_proxy` and `no_proxy`, in either case; null for
 * none. Loopback addresses have none: a proxy would connect to its own machine. Throws
 * `config_invalid`, naming the variable, for one that is no address of an HTTP proxy.
 */
export function proxyFor(address: URL, env: Env): Proxy | null {
  if (isLoopback(address.hostname) || isExcluded(address, valueOf('no_proxy', env))) return null
  const name = address.protocol === 'https:' ? 'https_proxy' : 'http_proxy'
  const value = valueOf(name, env)
  if (value === '') return null
  const variable = env[name] === value ? name : name.toUpperCase()
  const url = /^https?:\/\/[^\s/]+\/?$/i.test(value) ? URL.parse(value) : null
  if (url !== null && canDecode(url.username + url.password)) return { variable, url }
  throw new ServiceError('config_invalid', `${variable} is not the address of an HTTP proxy`, {
    hint: `write it as http://proxy.example:3128, or unset ${variable}`,
  })
}

/** Options of a Node agent whose connections all go through the proxy, if there is one. */
export function proxyAgentOptions(proxy: Proxy | null): { proxyEnv?: Record<string, string> } {
  if (proxy === null) return {}
  const { href } = proxy.url
  return { proxyEnv: { http_proxy: href, https_proxy: href } }
}

function valueOf(name: string, env: Env): string {
  return env[name] || env[name.toUpperCase()] || ''
}

function canDecode(text: string): boolean {
  try {
    return decodeURIComponent(text) !== null
  } catch {
    return false
  }
}

/** Whether `NO_PROXY` has the host: `*`, names with their subdomains, addresses, `10.0.0.0/8`. */
function isExcluded({ hostname, port, protocol }: URL, list: string): boolean {
  const host = withoutBrackets(hostname)
  const usedPort = port || (protocol === 'https:' ? '443' : '80')
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(entry => entry !== '')
    .some(entry => entry === '*' || covers(entry, host, usedPort))
}

function covers(entry: string, host: string, usedPort: string): boolean {
  const network = parseNetwork(entry)
  if (network !== null) return isInNetwork(network, host)
  const [, name = '', port = usedPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
  const domain = withoutBrackets(name).replace(/^\*?\./, '')
  return port === usedPort && (host === domain || host.endsWith(`.${domain}`))
}
