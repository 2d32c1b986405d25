import { opendir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../lib/util/time.ts'
import { errnoOf } from '../../lib/util/errors.ts'
import { idOfRecord, idOfStray, recordFile } from '../../lib/instances/files.ts'
import { ownFile, removeDeadRecord } from '../../lib/instances/remove-dead.ts'
import type { Logger } from '../../lib/util/logger.ts'

/** A token is written moments before its record, a temporary file lives for moments. */
const strayAgeMs = 60 * 60 * 1000

interface LeftoverOptions {
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
  /** Records younger than this stay: a dead instance can be read for so long. */
  readonly recordAgeMs: number
  readonly log: Logger
  /** Once aborted, what is left is left for the next start. */
  readonly cancelled?: Pick<AbortSignal, 'aborted'>
}

/**
 * Removes what processes of this user that died without cleaning up left on this machine a while
 * ago: the record and its tokens, never anything a record merely points to. Returns the instance ids.
 * Records of other hosts, of other versions and unreadable ones stay; no trouble is fatal.
 */
export async function removeLeftovers(options: LeftoverOptions): Promise<string[]> {
  const removed: string[] = []
  try {
    for await (const entry of await opendir(options.instancesDir)) {
      if (options.cancelled?.aborted) break
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
  const { instancesDir, recordAgeMs } = options
  const id = idOfRecord(name)
  if (id !== null) {
    // Touched every 5 seconds by a process that lives.
    const touchedMs = (await ownFile(join(instancesDir, name)))?.mtimeMs
    if (touchedMs === undefined || systemClock.now() - touchedMs < recordAgeMs) return null
    return (await removeDeadRecord(instancesDir, id, hostname())) ? id : null
  }
  await removeStray(name, options)
  return null
}

/** A token or a temporary file whose record was never written. */
async function removeStray(name: string, options: LeftoverOptions): Promise<void> {
  const id = idOfStray(name)
  if (id === null) return
  const path = join(options.instancesDir, name)
  const found = await ownFile(path)
  if (found === null || systemClock.now() - found.mtimeMs < strayAgeMs) return
  if (/\.(token|owner)$/.test(name) && (await ownFile(recordFile(options.instancesDir, id)))) return
  await rm(path, { force: true })
}
