import { constants } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, isJsonObject, parseJson } from '../util/json.ts'
import type { Logger } from '../util/logger.ts'
import { isOwnFolder, noFollow, noWait } from '../util/posix.ts'

/** What an instance record holds, not checked yet, and when its server last touched it. */
export interface RecordFile {
  readonly record: JsonObject
  readonly modifiedMs: number
}

/** A running server touches its record every 5 seconds. */
export const maxRecordAgeMs = 30_000

const maxRecordBytes = 64 * 1024
const maxRecordDepth = 16
const maxRecords = 1000

/** None from a folder into which another user could have put a record, with a server of his own. */
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
      const file = await readRecord(join(instances, name)).catch(() => null)
      if (file !== null) found.push(file)
    }
    return found
  } catch {
    // No server has run yet.
    return []
  }
}

/** Null for what is no record; throws when the file went away. */
async function readRecord(path: string): Promise<RecordFile | null> {
  const file = await open(path, constants.O_RDONLY | noFollow | noWait)
  try {
    const found = await file.stat()
    if (!found.isFile() || found.size > maxRecordBytes) return null
    const parsed = parseJson(await file.readFile('utf8'), maxRecordDepth)
    if (!parsed.ok || !isJsonObject(parsed.value)) return null
    return { record: parsed.value, modifiedMs: found.mtimeMs }
  } finally {
    await file.close()
  }
}
