import * as fs from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fsyncDirectory } from '../../lib/util/posix.ts'
import { type Entry, fileKey, sidecarPath } from './entry.ts'
import type { FsContext } from './fs-context.ts'

/** Removes whatever is stored under the hash. False when there was no sidecar. */
export function removeArtefact(store: FsContext, hex: string): Promise<boolean> {
  return store.locks.hold(hex, () => unlinkBoth(store, hex))
}

/** Removes the entry unless it was stored again in the meantime, perhaps by another process. */
export function removeUnchanged(store: FsContext, entry: Entry): Promise<boolean> {
  const { hex, key } = entry
  return store.locks.hold(hex, async () => {
    const path = sidecarPath(store.shards.dirOf(hex), hex)
    const stats = fs.lstatSync(path, { throwIfNoEntry: false })
    if (stats !== undefined && fileKey(stats) !== key) {
      store.shards.refreshOf(hex)
      return false
    }
    return unlinkBoth(store, hex)
  })
}

/** Sidecar first: from then on it is no artefact, whatever happens to the body. */
async function unlinkBoth(store: FsContext, hex: string): Promise<boolean> {
  const dir = store.shards.dirOf(hex)
  const path = sidecarPath(dir, hex)
  const existed = fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined
  if (existed) fs.unlinkSync(path)
  store.index.remove([hex])
  await rm(join(dir, hex), { force: true })
  if (existed) await fsyncDirectory(dir)
  return existed
}

/**
 * Takes a body whose bytes are not those of its name out of the store and keeps it for
 * inspection. `inode` is that of the file found damaged: one that replaced it is left alone.
 */
export function quarantine(store: FsContext, hex: string, inode: number): Promise<void> {
  return store.locks.hold(hex, async () => {
    const dir = store.shards.dirOf(hex)
    const body = join(dir, hex)
    const stats = fs.lstatSync(body, { throwIfNoEntry: false })
    if (stats === undefined || stats.ino !== inode) return
    fs.rmSync(sidecarPath(dir, hex), { force: true })
    store.index.remove([hex])
    const aside = join(store.layout.quarantine, `${hex}.${store.clock.now()}`)
    await rename(body, aside)
    await fsyncDirectory(dir)
    store.log.error({ digest: `sha256:${hex}`, aside }, 'damaged artefact moved aside')
  })
}
