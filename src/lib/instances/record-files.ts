import { lstat, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { readBounded } from '../util/bytes.ts'
import { isMissing } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { isOwn, isOwnFolder } from '../util/posix.ts'
import { type InstanceRecord, parseRecord, maxRecordBytes } from './record.ts'

/** An instance record, and when its server last touched it. */
interface RecordFile {
  readonly record: InstanceRecord
  readonly modifiedMs: number
}

/** A running server touches its record every 5 seconds. */
export const maxRecordAgeMs = 30_000

const maxRecords = 1000

/** Ignores a folder in which another user could have put a record that leads to another server. */
export async function readRecordFiles(registryDir: string, log: Logger): Promise<RecordFile[]> {
  const instances = join(registryDir, 'instances')
  try {
    for (const folder of [registryDir, instances]) {
      if (isOwnFolder(await lstat(folder))) continue
      log.warn({ folder }, 'the folder of instances is not used: others can change it')
      return []
    }
    const names = (await readdir(instances)).filter(name => name.endsWith('.json'))
    const found: RecordFile[] = []
    for (const name of names.slice(0, maxRecords)) {
      const file = await readRecordFile(join(instances, name)).catch(() => null)
      if (file !== null) found.push(file)
    }
    return found
  } catch {
    // No server has run yet.
    return []
  }
}

/**
 * Null for a file that is missing, of another user, or no record of the instance in its name.
 * Other errors of the file system pass through. (The gateway reads 1000 records every 2 seconds
 * and has its own, synchronous `lookAtFile`.)
 */
export async function readRecordFile(path: string): Promise<RecordFile | null> {
  const found = await lstat(path).catch(error => {
    if (isMissing(error)) return null
    throw error
  })
  if (found === null || !found.isFile() || !isOwn(found)) return null
  const bytes = await readBounded(path, maxRecordBytes)
  const parsed = bytes.ok ? parseRecord(bytes.value, basename(path, '.json')) : bytes
  return parsed.ok ? { record: parsed.value, modifiedMs: found.mtimeMs } : null
}
