import { lstat, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { listPrivateFolder } from '../config/private-file.ts'
import type { Logger } from '../util/logger.ts'
import { uuidForm } from '../util/text.ts'
import { ownerFile, tokenFile } from './files.ts'
import { instanceOf, lifeOf } from './instance.ts'
import { readRecordFile } from './record-files.ts'

/** What an instance left is removed so long after its last heartbeat; till then it can be read. */
export const reapAfterMs = 10 * 60_000

/** A token is written moments before its record, and a temporary file lives for moments. */
const strayAgeMs = 60 * 60_000
const stray = new RegExp(`^(${uuidForm})\\.(token|owner|(?:json|token|owner)\\.[0-9a-f]+\\.tmp)$`)

/**
 * Removes what processes of this machine left that ended without cleaning up: records, tokens and
 * temporary files, never anything that a record points to. Never rejects.
 */
export async function reapInstances(instancesDir: string, log: Logger): Promise<void> {
  try {
    const names = await listPrivateFolder(instancesDir)
    const all = new Set(names)
    for (const name of names) {
      if (name.endsWith('.json')) await reapRecord(instancesDir, name, log)
      const [, id] = stray.exec(name) ?? []
      if (id !== undefined && !all.has(`${id}.json`)) await reapStray(join(instancesDir, name))
    }
  } catch (error) {
    log.warn({ err: error }, 'the files of dead instances cannot be removed')
  }
}

async function reapRecord(instancesDir: string, name: string, log: Logger): Promise<void> {
  const path = join(instancesDir, name)
  const file = readRecordFile(path)
  if (file?.record.ok !== true || Date.now() - file.modifiedMs < reapAfterMs) return
  const instance = instanceOf(file.record.value)
  if (lifeOf(instance, file.modifiedMs) !== 'dead') return
  await rm(tokenFile(instancesDir, instance.id), { force: true })
  await rm(ownerFile(instancesDir, instance.id), { force: true })
  await rm(path, { force: true })
  log.info({ instance: instance.id }, 'removed the record of a dead instance')
}

async function reapStray(path: string): Promise<void> {
  const { mtimeMs } = await lstat(path)
  if (Date.now() - mtimeMs > strayAgeMs) await rm(path, { force: true })
}
