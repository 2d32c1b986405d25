import { isJsonObject, parseJson } from '../util/json.ts'
import { isPid } from '../util/process-start.ts'

/** What a record says about the process that wrote it. */
export interface Owner {
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
