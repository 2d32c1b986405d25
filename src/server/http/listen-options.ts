import type { TlsFiles } from './tls-files.ts'

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
