import type { Limits } from './options.ts'
import type { TlsFiles } from './tls/tls-files.ts'

/** Settings of a server. Not an authentication boundary: enforcement is a separate argument. */
export interface McpHttpConfig {
  /** TCP port; 0 picks a free one. Default 0. */
  port?: number
  /** Address to bind. Default 127.0.0.1. */
  host?: string
  /** Folder of instance records, keys and artefacts (docs/limits.md, "registry folder"). */
  registryDir?: string
  /** Advertise and serve resources. Default true; false makes every resources method −32601. */
  enableResources?: boolean
  /** Serve `artefact://`. Default false; then reads answer −32002. */
  enableArtefactResources?: boolean
  /** The address clients use, when it is not the bound one (behind a proxy). */
  publicUrl?: string
  /** Further names accepted in the Host header. */
  allowedHosts?: readonly string[]
  /** Origins (`https://studio.example`) accepted and given CORS headers. */
  allowedOrigins?: readonly string[]
  /** Addresses, or networks (`10.0.0.0/8`), of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies?: readonly string[]
  /** HTTPS with the certificate and the key in these files, which are followed. Default: HTTP. */
  tls?: TlsFiles
  /** Any of the bounds; the rest keep their defaults. */
  limits?: Partial<Limits>
}
