import { statSync } from 'node:fs'
import { ownUid } from './posix.ts'

/**
 * Is there a process with this id here, and is it of the same user? Null where the system does not
 * tell. An id from inside a container or sandbox is that of something else out here.
 */
export function isOwnProcess(pid: number): boolean | null {
  const uid = ownUid()
  if (process.platform !== 'linux' || uid === null) return null
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === uid
}
