import { type Stats, constants } from 'node:fs'
import { lstat, open, opendir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { errnoOf } from '../../lib/errno.ts'
import { isJsonObject, parseJson } from '../../lib/json.ts'
import type { Logger } from '../../lib/logger.ts'
import { noFollow, ownUid } from '../../lib/posix.ts'
import { isRunning, processStart } from '../../lib/process-start.ts'
import { tokenFile } from './host-token.ts'

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const recordName = new RegExp(`^(${uuid})\\.json$`)
const strayName = new RegExp(`^(${uuid})\\.(token|json\\.\\d+\\.tmp)$`)
const maxRecordBytes = 256 * 1024
/** A token is written moments before its record, a temporary file lives for moments. */
const strayAgeMs = 60 * 60 * 1000

export interface LeftoverOptions {
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  readonly hostname: string
  readonly clock: Clock
  readonly log: Logger
}

/** What a record says about the process that wrote it. */
export interface Owner {
  readonly pid: number
  readonly pidStart: string | null
  readonly hostname: string
}

/**
 * Removes what processes of this user that died without cleaning up left on this machine: the
 * record and its token, never anything a record merely points to. Returns the instance ids.
 * Records of other hosts, of other versions and unreadable ones stay; no trouble is fatal.
 */
export async function removeLeftovers(options: LeftoverOptions): Promise<string[]> {
  const removed: string[] = []
  try {
    for await (const entry of await opendir(options.instancesDir)) {
      const id = await removeIfDead(entry.name, options).catch(error => {
        options.log.warn({ file: entry.name, code: errnoOf(error) }, 'leftover cannot be removed')
        return null
      })
      if (id !== null) removed.push(id)
    }
  } catch (error) {
    options.log.warn({ err: error }, 'instances cannot be listed')
  }
  if (removed.length > 0) options.log.info({ removed }, 'removed records of dead instances')
  return removed
}

async function removeIfDead(name: string, options: LeftoverOptions): Promise<string | null> {
  const path = join(options.instancesDir, name)
  const id = recordName.exec(name)?.[1]
  if (id === undefined) {
    await removeStray(name, path, options)
    return null
  }
  const found = await ownFile(path)
  if (found === null || found.size > maxRecordBytes) return null
  const owner = parseOwner(await readNoFollow(path), id)
  if (owner === null || owner.hostname !== options.hostname) return null
  if (!isDead(owner, isRunning(owner.pid), await processStart(owner.pid))) return null
  await rm(tokenFile(options.instancesDir, id), { force: true })
  await rm(path, { force: true })
  return id
}

/** A token or a temporary file whose record was never written. */
async function removeStray(name: string, path: string, options: LeftoverOptions): Promise<void> {
  const id = strayName.exec(name)?.[1]
  if (id === undefined) return
  const found = await ownFile(path)
  if (found === null || options.clock.now() - found.mtimeMs < strayAgeMs) return
  if (name.endsWith('.token') && (await ownFile(join(options.instancesDir, `${id}.json`)))) return
  await rm(path, { force: true })
}

/** Gone, or its pid was given to another process since. */
export function isDead(owner: Owner, running: boolean, startedNow: string | null): boolean {
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
  // 0 and negative numbers are process groups, not processes.
  if (!Number.isSafeInteger(pid) || typeof pid !== 'number' || pid <= 0) return null
  return { pid, pidStart: typeof pid_start === 'string' ? pid_start : null, hostname }
}

async function ownFile(path: string): Promise<Stats | null> {
  const found = await lstat(path).catch(() => null)
  const uid = ownUid()
  if (found === null || !found.isFile() || (uid !== null && found.uid !== uid)) return null
  return found
}

async function readNoFollow(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | noFollow)
  try {
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}
