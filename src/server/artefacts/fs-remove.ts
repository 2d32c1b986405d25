import * as fs from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fsyncDirectory } from '../../lib/util/posix.ts'
import { renameFile } from '../../lib/util/replace-file.ts'
import { type Entry, fileKey, sidecarPath } from './entry.ts'
import type { FsContext } from './fs-context.ts'
import { boundOf, selectEvictions } from './expiry.ts'
import { markState } from './marks.ts'

/** Removes whatever is stored under the hash. False when there was no sidecar. */
export function removeArtefact(store: FsContext, hex: string): Promise<boolean> {
  return store.locks.hold(hex, () => unlinkBoth(store, hex))
}

/** Removes the entry unless it was stored again in the meantime, perhaps by another process. */
function removeUnchanged(store: FsContext, entry: Entry): Promise<boolean> {
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
    await renameFile(body, aside)
    await fsyncDirectory(dir)
    store.log.error({ digest: `sha256:${hex}`, aside }, 'damaged artefact moved aside')
  })
}

/** Temporary files of processes that cannot be judged from here stay this long. */
const foreignTempMs = 24 * 60 * 60 * 1000
/** Least space a file is taken to need. */
const blockBytes = 4096

export async function removeExpired(store: FsContext): Promise<void> {
  const now = store.clock.now()
  for (const entry of store.index.ordered.filter(each => each.expiresMs <= now)) {
    await removeUnchanged(store, entry)
  }
}

/** The oldest go until the rest is within the bounds; `keep` was stored just now and stays. */
export async function evict(store: FsContext, keep: string | null = null): Promise<void> {
  const { index, limits, log } = store
  const bounds = {
    maxBytes: boundOf(limits.maxArtefactTotalBytes),
    maxEntries: boundOf(limits.maxArtefacts),
  }
  const total = { bytes: index.totalBytes, count: index.ordered.length }
  for (const entry of selectEvictions(index.ordered, total, bounds, keep)) {
    if (await removeUnchanged(store, entry)) {
      log.info({ uri: entry.ref.uri, bytes: entry.bytes }, 'artefact removed: store is full')
    }
  }
}

/** Everything that interrupted processes left behind. What a running one works on stays. */
export async function removeLeftovers(store: FsContext): Promise<void> {
  store.locks.clean()
  await removeTemps(store)
  await removeOrphans(store)
  await boundQuarantine(store)
}

async function removeTemps({ layout, log }: FsContext): Promise<void> {
  for (const name of fs.readdirSync(layout.temp)) {
    const path = join(layout.temp, name)
    const state = markState(name.split('.')[0] ?? '')
    if (state === 'alive') continue
    if (state === 'unknown' && !isOlder(path, foreignTempMs)) continue
    await rm(path, { force: true, recursive: true })
    log.info({ name }, 'leftover of an interrupted put removed')
  }
}

function isOlder(path: string, ageMs: number): boolean {
  const stats = fs.lstatSync(path, { throwIfNoEntry: false })
  return stats !== undefined && Date.now() - stats.mtimeMs > ageMs
}

/** A body is without sidecar only while its put holds the lock, or for good. */
async function removeOrphans(store: FsContext): Promise<void> {
  for (const hex of store.shards.orphans()) {
    await store.locks.tryHold(hex, async () => {
      const dir = store.shards.dirOf(hex)
      const path = sidecarPath(dir, hex)
      if (fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined) return
      await rm(join(dir, hex), { force: true })
      store.log.info({ hex }, 'body without sidecar removed')
    })
  }
}

async function boundQuarantine({ layout, limits }: FsContext): Promise<void> {
  const files = fs.readdirSync(layout.quarantine).flatMap(name => {
    const path = join(layout.quarantine, name)
    const stats = fs.lstatSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return []
    return [{ hex: path, bytes: Math.max(stats.size, blockBytes), atMs: stats.ctimeMs }]
  })
  files.sort((left, right) => right.atMs - left.atMs)
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const total = { bytes, count: files.length }
  const bounds = { maxBytes: limits.maxArtefactQuarantineBytes, maxEntries: Infinity }
  for (const file of selectEvictions(files, total, bounds)) await rm(file.hex, { force: true })
}
