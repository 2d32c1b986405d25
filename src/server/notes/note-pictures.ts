import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { listPrivateFolder, writePrivateFile } from '../../lib/config/private-file.ts'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'

/** Pictures of one document. The oldest leave, those of `before` last. */
const maxNoteBytes = 256 * 1024 * 1024

/** `before`, or the number of an answer after one of the other words. */
export const pictureName = /^(before|(after|difference)-\d{1,3})$/

/** The pictures of the notes of one document, beside the notes, and what else is kept with them. */
export class NotePictures {
  readonly folder: string
  readonly #maxBytes: number

  constructor(folder: string, maxBytes = maxNoteBytes) {
    this.folder = folder
    this.#maxBytes = maxBytes
  }

  async save(id: string, name: string, bytes: Uint8Array): Promise<void> {
    await this.#makeRoom(bytes.length)
    await writePrivateFile(this.#path(id, name), bytes)
  }

  /** Throws `resource_not_found`. */
  async read(id: string, name: string): Promise<Buffer> {
    try {
      return await readFile(this.#path(id, name))
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
      throw new ServiceError('resource_not_found', 'this note has no such picture', {
        hint: 'it may have been removed to make room for newer pictures',
      })
    }
  }

  async remove(id: string, name: string): Promise<void> {
    await rm(this.#path(id, name), { force: true }).catch(() => {})
  }

  async #makeRoom(newBytes: number): Promise<void> {
    const names = await listPrivateFolder(this.folder)
    const files = await Promise.all(
      names.map(async name => {
        const path = join(this.folder, name)
        const { size, mtimeMs } = await stat(path).catch(() => ({ size: 0, mtimeMs: 0 }))
        return { path, size, mtimeMs, isBefore: /-(before\.png|details\.json)$/.test(name) }
      }),
    )
    let bytes = files.reduce((sum, { size }) => sum + size, newBytes)
    const order = files.toSorted(
      (a, b) => Number(a.isBefore) - Number(b.isBefore) || a.mtimeMs - b.mtimeMs,
    )
    for (const { path, size } of order) {
      if (bytes <= this.#maxBytes) return
      await rm(path, { force: true })
      bytes -= size
    }
  }

  #path(id: string, name: string): string {
    return join(this.folder, `${id}-${name}.${name === 'details' ? 'json' : 'png'}`)
  }
}
