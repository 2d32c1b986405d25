import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { changeFolder, namesIn, textIn } from '../../lib/config/shared-folder.ts'
import { replaceFile } from '../../lib/util/replace-file.ts'
import {
  type Checkpoint,
  type CheckpointStore,
  inOrder,
  makeRoom,
  parseCheckpoint,
} from './checkpoint-store.ts'

/** The checkpoints of one document, two files each: the scene and what is said of it. */
export class CheckpointFolder implements CheckpointStore {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  async list(): Promise<readonly Checkpoint[]> {
    const names = await namesIn(this.#path, 'the checkpoints')
    const files = names.filter(name => /^[0-9a-f]{32}\.json$/.test(name))
    // A name is not free because its file cannot be read now.
    const texts = files.map(name => textIn(join(this.#path, name), 'the checkpoints'))
    return inOrder((await Promise.all(texts)).map(parseCheckpoint))
  }

  read(name: string): Promise<Buffer> {
    return readFile(this.#scenePath(name))
  }

  add(checkpoint: Checkpoint, packed: Buffer): Promise<void> {
    return changeFolder(this.#path, 'checkpoint', async () => {
      for (const each of makeRoom(await this.list(), checkpoint)) await this.#removeFiles(each.name)
      // The facts come last: without them a scene does not count.
      await replaceFile(this.#scenePath(checkpoint.name), packed)
      await replaceFile(this.#factsPath(checkpoint.name), JSON.stringify(checkpoint))
    })
  }

  remove(name: string): Promise<boolean> {
    return changeFolder(this.#path, 'checkpoint', async () => {
      const isThere = (await this.list()).some(each => each.name === name)
      if (isThere) await this.#removeFiles(name)
      return isThere
    })
  }

  async #removeFiles(name: string): Promise<void> {
    await rm(this.#factsPath(name), { force: true })
    await rm(this.#scenePath(name), { force: true })
  }

  #factsPath(name: string): string {
    return join(this.#path, `${keyOf(name)}.json`)
  }

  #scenePath(name: string): string {
    return join(this.#path, `${keyOf(name)}.scene.gz`)
  }
}

/** Two names that a file system would not tell apart have two files. */
function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 32)
}
