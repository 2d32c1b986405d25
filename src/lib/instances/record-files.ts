import { lstatSync, readFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { listPrivateFolder } from '../config/private-file.ts'
import { errnoOf, isMissing, messageOf } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { isOwn } from '../util/posix.ts'
import { fail, type Result } from '../util/result.ts'
import { healthOf } from './process.ts'
import { type InstanceRecord, parseRecord } from './record.ts'

/** One file among the instance records. */
export interface RecordFile {
  /** Differs when the file was touched, rewritten or replaced. */
  readonly stamp: string
  /** Milliseconds since the epoch: the last heartbeat of its server. */
  readonly modifiedMs: number
  readonly text: string
  /** The identical object as long as the content stays. */
  readonly record: Result<InstanceRecord, string>
}

/** The instances with a valid record. Throws as `listRecords`. */
export async function readInstances(
  instancesDir: string,
): Promise<{ record: InstanceRecord; heartbeatMs: number }[]> {
  return (await listRecords(instancesDir)).flatMap(name => {
    const file = readRecordFile(join(instancesDir, name))
    if (file?.record.ok !== true) return []
    return { record: file.record.value, heartbeatMs: file.modifiedMs }
  })
}

/** The names of the records. Throws `registry_dir_unsafe` for a folder that others can change. */
export async function listRecords(instancesDir: string): Promise<string[]> {
  return (await listPrivateFolder(instancesDir)).filter(name => name.endsWith('.json'))
}

/**
 * Reads a record, or returns `known` when the file is as it was; null when it is missing.
 * Synchronous: a file system answers such calls from memory, 20 times cheaper than through the
 * thread pool, and a gateway looks at 1,000 files twice a second.
 */
export function readRecordFile(path: string, known?: RecordFile): RecordFile | null {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return null
    const { ino, size, mtimeMs: modifiedMs } = found
    const stamp = `${ino}:${size}:${modifiedMs}`
    if (known?.stamp === stamp) return known
    if (!found.isFile() || !isOwn(found)) {
      const foreign = `it belongs to another user (uid ${found.uid})`
      const reason = found.isFile() ? foreign : 'it is not a plain file'
      return { stamp, modifiedMs, text: '', record: fail(reason) }
    }
    const text = readFileSync(path, 'utf8')
    // A heartbeat is a touch: most of what is read says what it said before.
    const isSame = known?.text === text
    const record = isSame ? known.record : parseRecord(text, basename(path, '.json'))
    return { stamp, modifiedMs, text, record }
  } catch (error) {
    if (isMissing(error)) return null
    // It may be readable again, as when this process had too many files open.
    if (known !== undefined) return known
    const reason = `it cannot be read (${errnoOf(error) ?? 'unknown error'})`
    return { stamp: '', modifiedMs: 0, text: '', record: fail(reason) }
  }
}

/** What an instance left is removed so long after its last heartbeat; till then it can be read. */
export const reapAfterMs = 10 * 60_000

/** Removes the records, tokens and temporary files of processes of this machine that have ended. Never rejects. */
export async function reapInstances(instancesDir: string, log: Logger): Promise<void> {
  try {
    for (const { record, heartbeatMs } of await readInstances(instancesDir)) {
      const isRecent = Date.now() - heartbeatMs < reapAfterMs
      if (isRecent || healthOf(record, heartbeatMs) !== 'dead') continue
      const id = record.instance_id
      const left = (await readdir(instancesDir)).filter(name => name.startsWith(`${id}.`))
      // The record last, which sorts first: a stop in between leaves the rest to the next look.
      for (const name of left.toSorted().toReversed()) {
        await rm(join(instancesDir, name), { force: true })
      }
      log.info({ instance: id }, 'removed the record of a dead instance')
    }
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'the records of dead instances cannot be removed')
  }
}
