import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { errnoOf, messageOf, ServiceError } from '../util/errors.ts'
import { isOwn, noFollow, noWait } from '../util/posix.ts'
import { giveName } from '../util/replace-file.ts'

/** A partial download. */
export interface PartFile {
  readonly path: string
  /** Bytes written so far. */
  readonly bytes: number
  append(chunk: Buffer): Promise<void>
  /** Discards the content. */
  clear(): Promise<void>
  /** The SHA-256 of the content, in hex. Works once. */
  digest(): string
  close(): Promise<void>
}

/**
 * Opens the partial file of an earlier run of this user, or a new one. Throws `storage_failed`.
 */
export async function openPartFile(path: string): Promise<PartFile> {
  try {
    const { O_RDWR, O_CREAT } = constants
    const file = await open(path, O_RDWR | O_CREAT | noFollow, 0o666)
    const found = await file.stat()
    // The owner of a file can read it, and change it after its bytes were verified.
    const isUsable = found.isFile() && isOwn(found)
    if (isUsable) return new Part(path, file, await hashOf(file))
    await file.close()
    const what = found.isFile() ? 'belongs to another user' : 'is not a regular file'
    const hint = 'remove it, or choose another folder with --out'
    throw new ServiceError('storage_failed', `${path} ${what}`, { hint })
  } catch (error) {
    throw error instanceof ServiceError ? error : failed(path, error)
  }
}

class Part implements PartFile {
  readonly path: string
  readonly #file: FileHandle
  #hash: Hash
  #bytes: number

  constructor(path: string, file: FileHandle, begun: { hash: Hash; bytes: number }) {
    this.path = path
    this.#file = file
    this.#hash = begun.hash
    this.#bytes = begun.bytes
  }

  get bytes(): number {
    return this.#bytes
  }

  async append(chunk: Buffer): Promise<void> {
    try {
      let rest = chunk
      while (rest.length > 0) {
        const { bytesWritten } = await this.#file.write(rest, 0, rest.length, this.#bytes)
        this.#hash.update(rest.subarray(0, bytesWritten))
        this.#bytes += bytesWritten
        rest = rest.subarray(bytesWritten)
      }
    } catch (error) {
      throw failed(this.path, error)
    }
  }

  async clear(): Promise<void> {
    await this.#file.truncate(0)
    this.#hash = createHash('sha256')
    this.#bytes = 0
  }

  digest(): string {
    return this.#hash.digest('hex')
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

async function hashOf(file: FileHandle): Promise<{ hash: Hash; bytes: number }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) {
    hash.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  return { hash, bytes }
}

/** Renames a complete file to `target`. False when `target` exists and `force` is not set. */
export async function placePart(path: string, target: string, force: boolean): Promise<boolean> {
  try {
    if (!force) return await giveName(path, target)
    await rename(path, target)
    return true
  } catch (error) {
    throw failed(target, error)
  }
}

/** The SHA-256 of a regular file; null for anything else. */
export async function digestOfFile(path: string): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | noWait).catch(() => null)
  if (file === null) return null
  try {
    if (!(await file.stat()).isFile()) return null
    return (await hashOf(file)).hash.digest('hex')
  } finally {
    await file.close()
  }
}

function failed(path: string, error: unknown): ServiceError {
  const why = errnoOf(error) ?? messageOf(error)
  return new ServiceError('storage_failed', `cannot write ${path} (${why})`, {
    cause: error,
    hint: 'choose a file in a folder you may write in with --out',
  })
}
