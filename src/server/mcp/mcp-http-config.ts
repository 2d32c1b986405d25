import type { Limits } from '../../lib/config/limits.ts'
import { findUnknownMember, membersOf } from '../../lib/util/members.ts'
import type { ListenOptions } from '../http/listen-options.ts'

/**
 * Settings of a server; by default on a free port of 127.0.0.1. Not an authentication boundary:
 * enforcement is a separate argument.
 */
export interface McpHttpConfig extends Partial<ListenOptions> {
  /** Folder of instance records, keys and artefacts (docs/limits.md, "State directory"). */
  registryDir?: string
  /** Advertise and serve resources. Default true; false makes every resources method −32601. */
  enableResources?: boolean
  /** Offer the read-only tools (docs/agents.md). Default false; without resources there are none. */
  enableTools?: boolean
  /** Serve `artefact://`. Default false; then reads answer −32002. */
  enableArtefactResources?: boolean
  /** Serve the live page at `/` (docs/page.md). Default false; then `/` is not found. */
  enablePage?: boolean
  /** Any of the bounds; the rest keep their defaults. */
  limits?: Partial<Limits>
}

const known = membersOf<McpHttpConfig>({
  port: true,
  host: true,
  registryDir: true,
  enableResources: true,
  enableTools: true,
  enableArtefactResources: true,
  enablePage: true,
  publicUrl: true,
  allowedHosts: true,
  allowedOrigins: true,
  trustedProxies: true,
  tls: true,
  limits: true,
})

/** Throws `TypeError` for an unknown member, an empty host and a port out of range. */
export function checkConfig(config: McpHttpConfig): void {
  const unknown = findUnknownMember(config, known, 'member of McpHttpConfig')
  if (unknown !== null) throw new TypeError(unknown)
  const { host, port } = config
  if (host !== undefined && (typeof host !== 'string' || host.trim() === '')) {
    // To the system, no address means every address.
    throw new TypeError('host must not be empty; use 127.0.0.1, or 0.0.0.0 for every interface')
  }
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw new TypeError(`port must be a whole number from 0 to 65535, not ${String(port)}`)
  }
}
