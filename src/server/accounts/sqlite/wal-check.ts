import { open, readlink, readdir, stat } from 'node:fs/promises'
import { endianness } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { errnoOf } from '../../../lib/util/errno.ts'
import { ServiceError } from '../../../lib/util/errors.ts'

/** sqlite.org/walformat.html: of the file, of each frame before its page. */
const walHeaderBytes = 32
const frameHeaderBytes = 24
/** The part of the index that is read: one of the two copies of its header. */
const indexHeaderBytes = 48
const attempts = 10
const pauseMs = 20

/**
 * Throws `storage_failed` when the write-ahead log is shorter than its index says. After the end
 * of a process SQLite takes as much of the log as it finds and calls that the database; of a log
 * that was cut or removed it would silently forget what was acknowledged. The index is written
 * after the log and removed before it, so a log that is shorter than it was cut.
 */
export async function checkWal(file: string): Promise<void> {
  // Who has it open in this process needs no check, and would lose its locks by it (POSIX).
  if (await isOpenHere(`${file}-shm`)) return
  for (let attempt = 1; ; attempt++) {
    const needed = await neededBytes(`${file}-shm`)
    const size = await sizeOf(`${file}-wal`)
    if ((size ?? 0) >= needed) return
    if (attempt === attempts) throw cut(`${file}-wal`, size, needed)
    // Another process may have just emptied both.
    await delay(pauseMs)
  }
}

/** How long a log must be that goes with this index. */
export function walBytes(index: Buffer): number {
  const little = endianness() === 'LE'
  const isInit = index.readUInt8(12)
  const pageBytes = little ? index.readUInt16LE(14) : index.readUInt16BE(14)
  const frames = little ? index.readUInt32LE(16) : index.readUInt32BE(16)
  if (isInit !== 1 || frames === 0) return 0
  // 1 stands for 65536, which does not fit.
  const page = pageBytes === 1 ? 65_536 : pageBytes
  return walHeaderBytes + frames * (frameHeaderBytes + page)
}

async function neededBytes(path: string): Promise<number> {
  const handle = await open(path, 'r').catch(error => {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  })
  if (handle === null) return 0
  try {
    const header = Buffer.alloc(indexHeaderBytes)
    const { bytesRead } = await handle.read(header, 0, indexHeaderBytes, 0)
    return bytesRead < indexHeaderBytes ? 0 : walBytes(header)
  } finally {
    await handle.close()
  }
}

/** Null when there is no file. */
async function sizeOf(path: string): Promise<number | null> {
  const found = await stat(path).catch(error => {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  })
  return found?.size ?? null
}

/** Where the system does not tell (anything but Linux) the program opens a database once. */
async function isOpenHere(path: string): Promise<boolean> {
  const folder = '/proc/self/fd'
  const names = await readdir(folder).catch(() => [])
  const targets = await Promise.all(
    names.map(name => readlink(`${folder}/${name}`).catch(() => '')),
  )
  return targets.includes(path)
}

function cut(path: string, size: number | null, needed: number): ServiceError {
  const isShort = `was cut: it has ${size} bytes of at least ${needed}`
  const what = `${path} ${size === null ? 'is missing' : isShort}`
  const hint = 'put the whole file back, or restore a backup'
  return new ServiceError('storage_failed', `${what}, so changes would be lost`, { hint })
}
