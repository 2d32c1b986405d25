import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ServiceError } from './errors.ts'

/** The user this process runs as, or null where the system has no such notion (Windows). */
export function ownUid(): number | null {
  return process.geteuid?.() ?? null
}

/**
 * Makes sure that `path` is a folder of our own that nobody else can enter (0700). Throws
 * `registry_dir_unsafe` for a symlink, something else than a folder, another owner, or a folder
 * that others can enter and that already holds something: closing a folder in use is its owner's
 * decision. Errors of the file system pass through. Where there are no owners and modes
 * (Windows) only the kind of file is checked.
 */
export async function ensurePrivateDirectory(folder: string): Promise<void> {
  // Without a trailing slash, which would make the checks below follow a symlink.
  const path = resolve(folder)
  await mkdir(path, { recursive: true, mode: 0o700 }).catch(error => {
    // Something that is not a folder is there: the check below says so in clearer words.
    if (error.code !== 'EEXIST') throw error
  })
  const found = await lstat(path)
  if (found.isSymbolicLink()) throw unsafe(path, 'is a symbolic link')
  if (!found.isDirectory()) throw unsafe(path, 'is not a folder')
  const uid = ownUid()
  if (uid === null) return
  if (found.uid !== uid) throw unsafe(path, `belongs to another user (uid ${found.uid})`)
  if ((found.mode & 0o077) === 0) return
  if ((await readdir(path)).length > 0) {
    throw unsafe(path, `is open to other users (mode ${octal(found.mode)})`, `chmod 700 ${path}`)
  }
  await tighten(path)
}

/** Through a handle that does not follow a symlink, so that no other folder is hit by a swap. */
async function tighten(path: string): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
  const folder = await open(path, flags)
  try {
    await folder.chmod(0o700)
  } finally {
    await folder.close()
  }
}

function unsafe(path: string, what: string, hint?: string): ServiceError {
  const message = `the folder ${path} ${what}`
  return new ServiceError('registry_dir_unsafe', message, hint === undefined ? {} : { hint })
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}
