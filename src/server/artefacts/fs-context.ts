import type { ArtefactLimits } from './limits.ts'
import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Clock } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { ensurePrivateFolder } from '../../lib/config/private-file.ts'
import { fsyncDirectory } from '../../lib/util/posix.ts'
import type { EntryIndex } from './entry-index.ts'
import type { EntryLocks } from './entry-lock.ts'
import type { ShardTable } from './shard-table.ts'
import type { ArtefactOrigin } from './store.ts'

/** Folders of a store. */
interface FsLayout {
  readonly root: string
  /** `<2 hex>/<hex>` and `<hex>.json`: what is served. */
  readonly bodies: string
  /** Files being written. */
  readonly temp: string
  readonly locks: string
  /** Damaged bodies, kept for inspection. */
  readonly quarantine: string
}

/** What the parts of the filesystem store share. */
export interface FsContext {
  readonly layout: FsLayout
  readonly limits: ArtefactLimits
  readonly clock: Clock
  readonly log: Logger
  readonly locks: EntryLocks
  readonly index: EntryIndex
  readonly shards: ShardTable
  readonly mark: string
  readonly origin: () => ArtefactOrigin
}

export async function createLayout(root: string): Promise<FsLayout> {
  const layout: FsLayout = {
    root,
    bodies: join(root, 'sha256'),
    temp: join(root, 'tmp'),
    locks: join(root, 'locks'),
    quarantine: join(root, 'quarantine'),
  }
  await ensurePrivateFolder(root)
  for (const path of [layout.bodies, layout.temp, layout.locks, layout.quarantine]) {
    await ensurePrivateFolder(path)
  }
  await fsyncDirectory(layout.bodies)
  await fsyncDirectory(root)
  await fsyncDirectory(dirname(root))
  return layout
}

/** Creates the folders again that were deleted while the store was open. */
export async function restoreLayout(layout: FsLayout, log: Logger): Promise<void> {
  if (isLayoutComplete(layout)) return
  await createLayout(layout.root)
  log.warn({ path: layout.root }, 'the artefact folder was deleted; it was created again')
}

/** False once a user or a cleaner deleted a folder of the store. */
export function isLayoutComplete({ bodies, temp, locks, quarantine }: FsLayout): boolean {
  const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined
  return [bodies, temp, locks, quarantine].every(isThere)
}
