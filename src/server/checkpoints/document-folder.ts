import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  ensurePrivateFolder,
  listPrivateFolder,
  storageError,
} from '../../lib/config/private-file.ts'
import { isMissing } from '../../lib/util/errors.ts'
import { fsyncDirectory, noFollow, noWait } from '../../lib/util/posix.ts'
import { replaceFile, writeNewFile } from '../../lib/util/replace-file.ts'

/**
 * A folder that keeps what belongs to a document. Every file in it is created once, whole, and never
 * changed, so that several servers need no lock. One on a project share is trusted as given; any
 * other belongs to this user alone. Links are not followed.
 */
export class DocumentFolder {
  readonly path: string
  readonly isShared: boolean
  readonly #parent: DocumentFolder | null
  readonly #access: 'umask' | 'private'

  constructor(path: string, isShared = false, parent: DocumentFolder | null = null) {
    this.path = path
    this.isShared = isShared
    this.#parent = parent
    this.#access = isShared ? 'umask' : 'private'
  }

  folder(name: string): DocumentFolder {
    return new DocumentFolder(join(this.path, name), this.isShared, this)
  }

  /**
   * Names of its files and folders; none where it is missing. Throws `registry_dir_unsafe` when
   * other users can change a folder that is not shared, and `storage_failed`, also for a share that is
   * away.
   */
  async list(): Promise<string[]> {
    if (!this.isShared) return listPrivateFolder(this.path)
    try {
      await this.#refuseLinks()
      const entries = await readdir(this.path, { withFileTypes: true })
      return entries.filter(each => each.isFile() || each.isDirectory()).map(({ name }) => name)
    } catch (error) {
      if (isMissing(error) && (await isThere(this.#root))) return []
      throw storageError(this.path, error)
    }
  }

  /** The folder of all documents. */
  get #root(): string {
    return this.#parent === null ? dirname(this.path) : this.#parent.#root
  }

  /** Null: no file has this name. Rejects for a link and for a file of more than `maxBytes`. */
  async read(name: string, maxBytes: number): Promise<Buffer | null> {
    const path = join(this.path, name)
    try {
      await using file = await open(path, constants.O_RDONLY | noFollow | noWait)
      const found = await file.stat()
      if (found.isFile() && found.size <= maxBytes) return await file.readFile()
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
    throw new Error(`${path} is no file of at most ${maxBytes} bytes`)
  }

  /** Creates a file in this folder. False: there is one of this name. Throws as `writePrivateFile`. */
  async create(name: string, data: string | Uint8Array): Promise<boolean> {
    const path = join(this.path, name)
    try {
      return await replaceFile(path, data, { exclusive: true, access: this.#access })
    } catch (error) {
      throw storageError(path, error)
    }
  }

  /** Creates this folder with these files in it. False: it is there. Throws as `create`. */
  async createWith(files: ReadonlyMap<string, Buffer>): Promise<boolean> {
    await this.#parent?.make()
    const parent = dirname(this.path)
    const temporary = join(parent, `${randomBytes(8).toString('hex')}.tmp`)
    try {
      await mkdir(temporary, { mode: this.isShared ? 0o777 : 0o700 })
      for (const [file, data] of files) {
        await writeNewFile(join(temporary, file), data, { access: this.#access })
      }
      await fsyncDirectory(temporary)
      // Fails when the folder is there: one that holds something is never replaced.
      await rename(temporary, this.path)
      await fsyncDirectory(parent)
      return true
    } catch (error) {
      if (await isThere(this.path)) return false
      throw storageError(this.path, error)
    } finally {
      await rm(temporary, { recursive: true, force: true }).catch(() => {})
    }
  }

  /** Makes the folder where it is missing. Throws as `create`. */
  async make(): Promise<void> {
    await this.#parent?.make()
    if (!this.isShared) return ensurePrivateFolder(this.path)
    try {
      // The folder that was named is there: a share that is not mounted must not be replaced.
      await mkdir(this.path).catch(async (error: unknown) => {
        if (!(await isThere(this.path))) throw error
      })
      await this.#refuseLinks()
    } catch (error) {
      throw storageError(this.path, error)
    }
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true })
  }

  async #refuseLinks(): Promise<void> {
    for (const path of this.#parent === null ? [this.path] : [dirname(this.path), this.path]) {
      if (!(await lstat(path)).isDirectory()) throw new Error(`${path} is not a folder`)
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null
}
