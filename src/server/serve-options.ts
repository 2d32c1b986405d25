import type { Logger } from '../lib/logger.ts'
import type { AuthLimits } from './auth/limits.ts'
import type { AuthSettings } from './auth/settings.ts'
import type { GatewayLimits } from './gateway/limits.ts'
import type { AccessLog } from './http/access-log.ts'
import type { Limits } from './options.ts'
import type { TlsFiles } from './tls/tls-files.ts'

/** Everything `serve` decided before the server starts: checked values, no flags, no environment. */
export interface ServeOptions {
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
  /** Kind of application; `unknown` when nobody said. */
  dccType: string
  /** What people call this instance. */
  name?: string
  /** Folder of instance records, tokens and artefacts; absent: the default in the temp folder. */
  registryDir?: string
  artefacts: boolean
  resources: boolean
  /** A JSON file to watch and serve as the scene. */
  sceneFile?: string
  /** File with the host token; absent: `hostTokenEnv`, else one is made for this run. */
  hostTokenFile?: string
  /** The host token itself, as found in the environment. Never empty. */
  hostTokenEnv?: string
  /** Compete for the gateway beside it, on this port of the same address. */
  gateway?: { readonly port: number; readonly limits?: Partial<GatewayLimits> }
  /** Who may use `/mcp` and `/artefacts`, here and at the gateway beside it; absent: everyone. */
  auth?: AuthSettings
  log: Logger
  accessLog: AccessLog
  limits?: Partial<Limits>
  authLimits?: Partial<AuthLimits>
}

/** A started server. */
export interface ServeHandle {
  /** The MCP endpoint; ends in `/mcp`. */
  readonly url: string
  /** The host link; ends in `/host`. */
  readonly hostUrl: string
  /** Where an adapter finds the host token; null when it came from the environment. */
  readonly hostTokenFile: string | null
  readonly instanceId: string
  /** Ends streams and connections and removes the instance record, within `stopGraceMs`. */
  stop(): Promise<void>
  /** Settles when the server has stopped, whoever stopped it; rejects when it broke. */
  readonly closed: Promise<void>
}
