import { createHash } from 'node:crypto'
import { cleanText } from '../../lib/util/clean-text.ts'
import { parseRfc3339 } from '../../lib/util/clock.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/util/json.ts'
import { isPid } from '../../lib/util/process-start.ts'

/** A gateway, as it tells the programs of its machine who it is. */
export interface Resident {
  /** UUID, new for each run. */
  readonly instanceId: string
  readonly pid: number
  /** `processStart(pid)` */
  readonly pidStart: string | null
  readonly version: string
  /** Its MCP endpoint. */
  readonly url: string
  /** RFC 3339 */
  readonly startedAt: string
  /** Which registry folder it looks at: equal for the same one, and saying nothing else. */
  readonly registry: string
}

/** What no other program answers: by this a gateway is told from a stranger on its port. */
export const residentPath = '/gateway/v1/resident'
export const maxResidentBytes = 4096

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const maxPidStartChars = 128

/** `path` is the folder's real one: two spellings of a folder are one. */
export function registryMark(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16)
}

export function residentJson(resident: Resident): JsonObject {
  return {
    service: 'service-cli',
    role: 'gateway',
    instance_id: resident.instanceId,
    pid: resident.pid,
    pid_start: resident.pidStart,
    version: resident.version,
    url: resident.url,
    started_at: resident.startedAt,
    registry: resident.registry,
  }
}

/** Null for anything a gateway does not say. Every text of it is safe to show. */
export function parseResident(text: string): Resident | null {
  const parsed = parseJson(text, 8)
  if (!parsed.ok || !isJsonObject(parsed.value)) return null
  const { service, role, instance_id, pid, pid_start, version, url, started_at, registry } =
    parsed.value
  if (service !== 'service-cli' || role !== 'gateway') return null
  if (typeof instance_id !== 'string' || !uuid.test(instance_id)) return null
  if (!isPid(pid)) return null
  if (typeof version !== 'string' || typeof registry !== 'string') return null
  if (typeof url !== 'string' || !/^https?:\/\//.test(url) || !URL.canParse(url)) return null
  if (typeof started_at !== 'string' || parseRfc3339(started_at) === null) return null
  const known = typeof pid_start === 'string' && pid_start.length <= maxPidStartChars
  return {
    instanceId: instance_id,
    pid,
    pidStart: known ? pid_start : null,
    version: cleanText(version, 64),
    url: cleanText(url, 300),
    startedAt: started_at,
    registry: cleanText(registry, 64),
  }
}
