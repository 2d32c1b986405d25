import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { ownerFile, tokenFile } from './files.ts'
import { instanceOf, lifeOf } from './instance.ts'
import { listRecords, readRecordFile } from './record-files.ts'

/** What an instance left is removed so long after its last heartbeat; till then it can be read. */
export const reapAfterMs = 10 * 60_000

/** Removes the records and tokens of processes of this machine that have ended. Never rejects. */
export async function reapInstances(instancesDir: string, log: Logger): Promise<void> {
  try {
    for (const name of await listRecords(instancesDir)) {
      const path = join(instancesDir, name)
      const file = readRecordFile(path)
      if (file?.record.ok !== true || Date.now() - file.modifiedMs < reapAfterMs) continue
      const instance = instanceOf(file.record.value)
      if (lifeOf(instance, file.modifiedMs) !== 'dead') continue
      await rm(tokenFile(instancesDir, instance.id), { force: true })
      await rm(ownerFile(instancesDir, instance.id), { force: true })
      await rm(path, { force: true })
      log.info({ instance: instance.id }, 'removed the record of a dead instance')
    }
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'the records of dead instances cannot be removed')
  }
}
