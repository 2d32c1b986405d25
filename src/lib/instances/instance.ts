import { isLoopback } from '../util/address.ts'
import { parseRfc3339 } from '../util/time.ts'
import { isJsonObject, type JsonObject, parseJson } from '../util/json.ts'
import { isPid } from '../util/process.ts'
import type { RecordFile } from './record-files.ts'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

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

/** Whether an application is connected to a server. `since`, RFC 3339: since when it is, or is gone. */
interface ApplicationState {
  readonly connected: boolean
  /** Null before the first connection. */
  readonly since: string | null
}

/** Returns since when the application of a server is gone; null when it is connected, or never was. */
export function absenceText({ connected, since }: ApplicationState): string | null {
  return connected || since === null ? null : `application gone since ${since}`
}

/** Is it this machine that `host`, an address or a name, leads to? Never rejects. */
export async function isOwnHost(host: string): Promise<boolean> {
  if (isLoopback(host)) return true
  const own = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  const isOwn = (wanted: string): boolean =>
    isLoopback(wanted) || own.some(({ address }) => address === wanted)
  if (isIP(host) !== 0) return isOwn(host)
  const found = await lookup(host, { all: true }).catch(() => [])
  return found.length > 0 && found.every(({ address }) => isOwn(address))
}

/** What a record says about the process that wrote it. */
interface Owner {
  readonly pid: number
  readonly pidStart: string | null
  readonly hostname: string
}

/** Gone, or its pid was given to another process since. */
export function isDead(
  owner: Pick<Owner, 'pidStart'>,
  running: boolean,
  startedNow: string | null,
): boolean {
  if (!running) return true
  return owner.pidStart !== null && startedNow !== null && owner.pidStart !== startedNow
}

/** The owner named by the text of a record of version 1, null when it cannot be trusted to say. */
export function parseOwner(text: string, instanceId: string): Owner | null {
  const parsed = parseJson(text, 64)
  if (!parsed.ok || !isJsonObject(parsed.value)) return null
  const { schema_version, instance_id, pid, pid_start, hostname } = parsed.value
  if (schema_version !== 1 || instance_id !== instanceId || typeof hostname !== 'string')
    return null
  if (!isPid(pid)) return null
  return { pid, pidStart: typeof pid_start === 'string' ? pid_start : null, hostname }
}
