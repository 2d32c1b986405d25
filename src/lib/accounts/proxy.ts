import type { AccountsUrl } from '../config/accounts-url.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The proxy that a variable names; `used` is false for one that is no http or https address. */
export interface ProxyInUse {
  readonly used: boolean
  /** `HTTPS_PROXY` */
  readonly variable: string
  /** `http://proxy.example:3128`, without the user name and password it may hold. */
  readonly address: string
  readonly hostname: string
  readonly port: string
}

/**
 * The proxy that the variables name for an accounts server, or null. None for this machine: what is
 * sent there in plain text would reach the proxy, and be led to the wrong loopback. `NO_PROXY` is
 * judged by the agent, not here.
 */
export function proxyOf({ url, loopback }: AccountsUrl, env: Env): ProxyInUse | null {
  if (loopback) return null
  const base = url.startsWith('https:') ? 'https_proxy' : 'http_proxy'
  for (const variable of [base, base.toUpperCase()]) {
    const value = env[variable]
    if (value === undefined || value === '') continue
    // The agent passes over these without a word, SOCKS proxies included.
    if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) {
      return { used: false, variable, address: variable, hostname: '', port: '' }
    }
    const { protocol, host, hostname, port } = new URL(value)
    return { used: true, variable, address: `${protocol}//${host}`, hostname, port }
  }
  return null
}
