import { localBase } from '../../lib/util/address.ts'

/** Where a server listens and how clients reach it: the options of all three servers. */
export interface ListenOptions {
  /** TCP port; 0 picks a free one. */
  port: number
  /** Address to bind, without brackets. */
  host: string
  /** Address under which clients reach the server, when it is not the bound one. */
  publicUrl?: string
  /** Further names accepted in the Host header. */
  allowedHosts: readonly string[]
  /** Origins accepted and given CORS headers. */
  allowedOrigins: readonly string[]
  /** Addresses, or networks, of proxies whose `X-Forwarded-For` is believed. Default: none. */
  trustedProxies?: readonly string[]
  /** HTTPS with this certificate; absent: plain HTTP. */
  tls?: TlsFiles
}

/** Where a server is bound, and what clients call it. */
interface BoundAt {
  readonly host: string
  readonly publicUrl?: string | undefined
  readonly tls?: TlsFiles | undefined
}

/** The address clients use, without a slash at its end. */
export function baseUrlOf({ host, publicUrl, tls }: BoundAt, port: number): string {
  const scheme = tls === undefined ? 'http' : 'https'
  return publicUrl?.replace(/\/+$/, '') ?? localBase(host, port, scheme)
}

/** The address of `/mcp` that clients use. */
export function mcpUrlOf(bound: BoundAt, port: number): string {
  return `${baseUrlOf(bound, port)}/mcp`
}

/** Where the certificate of a server lies. */
export interface TlsFiles {
  /** PEM: the certificate of the server first, then those between it and its authority. */
  readonly certFile: string
  /** PEM, not encrypted. */
  readonly keyFile: string
}
