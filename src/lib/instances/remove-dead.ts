import { type Stats, constants } from 'node:fs'
import { lstat, open, rm } from 'node:fs/promises'
import { noFollow, noWait, ownUid } from '../util/posix.ts'
import { isRunning, processStart } from '../util/process.ts'
import { recordFile, tokenFile } from './files.ts'
import { isDead, parseOwner } from './instance.ts'

const maxRecordBytes = 256 * 1024

/**
 * Removes what an instance of this machine left: its record and the token made for it, never
 * anything the record merely points to. Only a record of this user, of version 1, that says of
 * itself to be this instance of this host, and whose process is gone now. Was it removed?
 */
export async function removeDeadRecord(
  instancesDir: string,
  instanceId: string,
  hostname: string,
): Promise<boolean> {
  const path = recordFile(instancesDir, instanceId)
  const found = await ownFile(path)
  if (found === null || found.size > maxRecordBytes) return false
  const owner = parseOwner(await readNoFollow(path), instanceId)
  if (owner === null || owner.hostname !== hostname) return false
  if (!isDead(owner, isRunning(owner.pid), await processStart(owner.pid))) return false
  await rm(tokenFile(instancesDir, instanceId), { force: true })
  await rm(path, { force: true })
  return true
}

/** Null for what is missing, no plain file, or another user's. */
export async function ownFile(path: string): Promise<Stats | null> {
  const found = await lstat(path).catch(() => null)
  const uid = ownUid()
  if (found === null || !found.isFile() || (uid !== null && found.uid !== uid)) return null
  return found
}

async function readNoFollow(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | noFollow | noWait)
  try {
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}
