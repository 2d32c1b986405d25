import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf } from '../util/errors.ts'
import type { Logger } from '../util/logger.ts'
import { recordFile } from './files.ts'
import { lifeOf } from './instance.ts'
import { readInstances } from './record-files.ts'

/** What an instance left is removed so long after its last heartbeat; till then it can be read. */
export const reapAfterMs = 10 * 60_000

/** Removes the records, tokens and temporary files of processes of this machine that have ended. Never rejects. */
export async function reapInstances(instancesDir: string, log: Logger): Promise<void> {
  try {
    for (const { record, heartbeatMs } of await readInstances(instancesDir)) {
      const isRecent = Date.now() - heartbeatMs < reapAfterMs
      if (isRecent || lifeOf(record, heartbeatMs) !== 'dead') continue
      const id = record.instance_id
      const left = (await readdir(instancesDir)).filter(name => name.startsWith(`${id}.`))
      // The record last: a stop in between leaves the rest to the next look.
      const last = basename(recordFile(instancesDir, id))
      for (const name of [...left.filter(name => name !== last), last]) {
        await rm(join(instancesDir, name), { force: true })
      }
      log.info({ instance: id }, 'removed the record of a dead instance')
    }
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'the records of dead instances cannot be removed')
  }
}
