import { randomBytes } from 'node:crypto'
import { lstat, open, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errnoOf } from '../../../lib/util/errors.ts'
import { fsyncDirectory } from '../../../lib/util/posix.ts'
import { giveName } from '../../../lib/util/replace-file.ts'

const temporaryEnd = /^[0-9a-f]{16}\.new(-wal|-shm|-journal)?$/
const staleMs = 60 * 60 * 1000

/**
 * Makes a file that is there whole or not at all: `fill` writes to a temporary name beside it,
 * then it gets its own, unless there is one already. False: another process was first.
 */
export async function publishFile(
  file: string,
  fill: (temporary: string) => Promise<void>,
): Promise<boolean> {
  if (await isThere(file)) return false
  await removeLeftovers(file)
  const temporary = `${file}.${randomBytes(8).toString('hex')}.new`
  try {
    // Made here, not by SQLite: never through a symlink, never open to others.
    await (await open(temporary, 'wx', 0o600)).close()
    await fill(temporary)
    await sync(temporary)
    return await giveName(temporary, file)
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) {
      await rm(temporary + suffix, { force: true })
    }
    await fsyncDirectory(dirname(file))
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
}

/** Removes temporary files of processes that were killed while they filled them. */
async function removeLeftovers(file: string): Promise<void> {
  const start = `${basename(file)}.`
  for (const name of await readdir(dirname(file))) {
    if (!name.startsWith(start) || !temporaryEnd.test(name.slice(start.length))) continue
    const path = join(dirname(file), name)
    const found = await lstat(path).catch(() => null)
    if (found !== null && Date.now() - found.mtimeMs > staleMs) await rm(path, { force: true })
  }
}
