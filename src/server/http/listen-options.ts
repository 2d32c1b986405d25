import { isLoopback } from '../../lib/util/net.ts'

/** Where a server listens and how clients reach it: the options of all three servers. */
export interface ListenOptions {
  /** TCP port; 0 picks a free one. */
  port: number
  /** Address to bind, without brackets. */
  host: string
  /** Address under which clients reach the server, when it is not the bound one. */
  publicUrl?: string
  /** Further names accepted in the Host header. Default: none. */
  allowedHosts?: readonly string[]
  /** Origins (`https://studio.example`) accepted and given CORS headers. Default: none. */
  allowedOrigins?: readonly string[]
  /** Addresses, or networks (`10.0.0.0/8`), of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies?: readonly string[]
  /** HTTPS with the certificate and the key in these files, which are followed. Default: HTTP. */
  tls?: TlsFiles
}

/** Where the certificate of a server lies. */
export interface TlsFiles {
  /** PEM: the certificate of the server first, then those between it and its authority. */
  readonly certFile: string
  /** PEM, not encrypted. */
  readonly keyFile: string
}

/** Where clients reach a server. */
export type Reached = Pick<ListenOptions, 'host' | 'publicUrl' | 'trustedProxies'>

/**
 * The flag by which other machines come in, or null. Behind a proxy the address that is bound says
 * nothing: to the server, the proxy is a client of this machine.
 */
export function findOpening({ host, publicUrl, trustedProxies = [] }: Reached): string | null {
  if (!isLoopback(host)) return `--host ${host}`
  if (publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname)) {
    return `--public-url ${publicUrl}`
  }
  const [proxy] = trustedProxies
  return proxy === undefined ? null : `--trusted-proxy ${proxy}`
}

/** The address of a server bound to `host`, for a client on the same machine. */
export function localBase(host: string, port: number, scheme: 'http' | 'https' = 'http'): string {
  if (host === '0.0.0.0' || host === '::') return `${scheme}://127.0.0.1:${port}`
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The address clients use, without a slash at its end. */
export function baseUrlOf(
  { host, publicUrl, tls }: Pick<ListenOptions, 'host' | 'publicUrl' | 'tls'>,
  port: number,
): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  return localBase(host, port, tls === undefined ? 'http' : 'https')
}
