import type { Stats } from 'node:fs'
import { lstat, rm } from 'node:fs/promises'
import { isOwn } from '../util/posix.ts'
import { isRunning, processStart } from './process.ts'
import { ownerFile, recordFile, tokenFile } from './files.ts'
import { isDead } from './instance.ts'
import { readRecordFile } from './record-files.ts'

/**
 * Removes what an instance of this machine left: its record and the tokens made for it, never
 * anything the record merely points to. Only a record of this user, of version 1, that says of
 * itself to be this instance of this host, and whose process is gone now. Returns whether it did.
 */
export async function removeDeadRecord(
  instancesDir: string,
  instanceId: string,
  hostname: string,
): Promise<boolean> {
  const path = recordFile(instancesDir, instanceId)
  if ((await ownFile(path)) === null) return false
  const owner = (await readRecordFile(path))?.record
  if (owner === undefined || owner.hostname !== hostname) return false
  if (!isDead(owner.pid_start, isRunning(owner.pid), await processStart(owner.pid))) return false
  await rm(tokenFile(instancesDir, instanceId), { force: true })
  await rm(ownerFile(instancesDir, instanceId), { force: true })
  await rm(path, { force: true })
  return true
}

/** Null for what is missing, no plain file, or another user's. */
export async function ownFile(path: string): Promise<Stats | null> {
  const found = await lstat(path).catch(() => null)
  return found !== null && found.isFile() && isOwn(found) ? found : null
}
