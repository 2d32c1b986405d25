import { isLoopback } from '../util/address.ts'
import { parseRfc3339 } from '../util/clock.ts'
import type { JsonObject } from '../util/json.ts'
import { isPid } from '../util/process-start.ts'
import type { RecordFile } from './record-files.ts'

/** A `serve` as its record describes it to a client of this machine. */
export interface Instance {
  readonly id: string
  /** `blender`; `unknown` as long as no application has said. */
  readonly dccType: string
  readonly displayName: string
  readonly scene: string | null
  /** The MCP endpoint at the address that the server itself listens on. */
  readonly url: string
  readonly pid: number
  /** Tells processes apart that had the same pid; null where the system does not tell. */
  readonly pidStart: string | null
  readonly hostname: string
  readonly startedMs: number
}

const maxTextChars = 1024

/** The instance of a record, or null for what is none of version 1. */
export function parseInstance({ record }: RecordFile): Instance | null {
  const { instance_id: id, pid, pid_start: pidStart, hostname, started_at: startedAt } = record
  const dccType = text(record.dcc_type)
  const startedMs = typeof startedAt === 'string' ? parseRfc3339(startedAt) : null
  const url = endpointOf(record)
  if (record.schema_version !== 1 || typeof id !== 'string' || !/^[\w-]{1,64}$/.test(id))
    return null
  if (!isPid(pid) || typeof hostname !== 'string') return null
  if (dccType === null || startedMs === null || url === null) return null
  return {
    id,
    dccType,
    displayName: text(record.display_name) ?? id,
    scene: text(record.scene),
    url,
    pid,
    pidStart: typeof pidStart === 'string' ? pidStart : null,
    hostname,
    startedMs,
  }
}

/**
 * `mcp_url` may lead over a proxy and out of this machine, or have a certificate that nobody here
 * knows; what is bound is the server of `host_url`, and the endpoint is there, too.
 */
function endpointOf({ mcp_url: mcpUrl, host_url: hostUrl }: JsonObject): string | null {
  const shown = httpUrl(mcpUrl)
  const bound = httpUrl(hostUrl)
  if (shown === null) return null
  const isPlain = shown.protocol === 'http:'
  if (bound === null || (isPlain && isLoopback(shown.hostname))) return shown.href
  return new URL('/mcp', bound).href
}

function httpUrl(value: unknown): URL | null {
  if (typeof value !== 'string' || !URL.canParse(value)) return null
  const url = new URL(value)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  return url.username === '' && url.password === '' ? url : null
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, maxTextChars) : null
}
