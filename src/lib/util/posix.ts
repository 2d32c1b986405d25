import { constants, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'
import { userInfo } from 'node:os'

// What only POSIX systems have. Where it is absent (Windows) the checks pass.

/** Flag for `open`: fail instead of following a symbolic link. */
export const noFollow: number = constants.O_NOFOLLOW ?? 0

/** Flag for `open`: do not wait for the other end of a pipe that lies in a file's place. */
export const noWait: number = constants.O_NONBLOCK ?? 0

/** The user this process runs as, or null where the system has no such notion (Windows). */
export function ownUid(): number | null {
  return process.geteuid?.() ?? null
}

/** The user name; the uid where the system has no name for it, as in `docker run -u 1234`. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${ownUid()}`
  }
}

/** Whether the file belongs to this user. */
export function isOwn(found: Stats): boolean {
  const uid = ownUid()
  return uid === null || found.uid === uid
}

/** Makes names that were created, renamed or removed in `path` durable. */
export async function fsyncDirectory(path: string): Promise<void> {
  // Windows cannot open a folder as a file, and syncs its entries with the file.
  if (process.platform === 'win32') return
  await using folder = await open(path, constants.O_RDONLY)
  await folder.sync()
}
