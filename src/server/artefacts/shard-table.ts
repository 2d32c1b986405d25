import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../../lib/util/logger.ts'
import { type Entry, type EntryLimits, fileKey, readEntry, sidecarPath } from './entry.ts'
import type { EntryIndex } from './entry-index.ts'
import { isArtefactHex } from '../../lib/mcp/uris.ts'

interface Shard {
  readonly name: string
  readonly dir: string
  /** Modification time of the folder before it was last read; -1 = never read. */
  mtimeNs: bigint
  /** That time lies far enough back that no later change can carry it too. */
  settled: boolean
  /** Sidecars that are no entries, with the key of the file that was found bad. */
  readonly bad: Map<string, string>
  /** Bodies without a sidecar. */
  orphans: readonly string[]
}

/** Clocks of file systems tick in steps of some milliseconds: two changes may share one time. */
const settleMs = 100

const shardNames: readonly string[] = Object.freeze(
  Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, '0')),
)

interface ShardTableOptions {
  dir: string
  index: EntryIndex
  limits: EntryLimits
  log: Logger
}

/** The 256 folders of a store: notices which of them changed and reads only those again. */
export class ShardTable {
  readonly #options: ShardTableOptions
  readonly #shards: readonly Shard[]

  constructor(options: ShardTableOptions) {
    this.#options = options
    this.#shards = shardNames.map(name => {
      const dir = join(options.dir, name)
      return { name, dir, mtimeNs: -1n, settled: false, bad: new Map(), orphans: [] }
    })
  }

  get count(): number {
    return this.#shards.length
  }

  dirOf(hex: string): string {
    return join(this.#options.dir, hex.slice(0, 2))
  }

  orphans(): string[] {
    return this.#shards.flatMap(shard => shard.orphans)
  }

  refreshOf(hex: string): void {
    this.refresh(Number.parseInt(hex.slice(0, 2), 16))
  }

  /**
   * Reads shard `at` again if its folder changed. In one go, so that no task sees half of it.
   * With `into` new entries are put there and not in the index: sorting them once is cheaper
   * when the whole store is read for the first time.
   */
  refresh(at: number, into?: Entry[]): void {
    const shard = this.#shards[at]
    if (shard === undefined) return
    const { index } = this.#options
    const stats = fs.statSync(shard.dir, { bigint: true, throwIfNoEntry: false })
    const mtimeNs = stats?.mtimeNs ?? 0n
    // The first put of a shard creates its folder, and indexes its own entry.
    const isUnused = stats === undefined && !index.shard(shard.name)?.size
    if (mtimeNs === shard.mtimeNs && (shard.settled || isUnused)) return

    const settled = stats !== undefined && Date.now() - Number(mtimeNs / 1_000_000n) > settleMs
    const { found, gone } = this.#scan(shard, stats !== undefined)
    index.remove(gone)
    if (into === undefined) index.put(found)
    else into.push(...found)
    shard.mtimeNs = mtimeNs
    shard.settled = settled
  }

  #scan(shard: Shard, exists: boolean): { found: Entry[]; gone: string[] } {
    const { index } = this.#options
    const known = index.shard(shard.name)
    const names = exists ? new Set(fs.readdirSync(shard.dir)) : new Set<string>()
    const found: Entry[] = []
    const orphans: string[] = []
    for (const name of names) {
      if (name.endsWith('.json')) {
        const hex = name.slice(0, -'.json'.length)
        if (!isArtefactHex(hex) || !hex.startsWith(shard.name)) continue
        const entry = this.#look(shard, hex, known?.get(hex), names.has(hex))
        if (entry !== undefined) found.push(entry)
      } else if (isArtefactHex(name) && !names.has(`${name}.json`)) {
        orphans.push(name)
      }
    }
    shard.orphans = orphans
    for (const hex of shard.bad.keys()) if (!names.has(`${hex}.json`)) shard.bad.delete(hex)
    const gone = [...(known?.keys() ?? [])].filter(
      hex => !names.has(hex) || !names.has(`${hex}.json`) || shard.bad.has(hex),
    )
    return { found, gone }
  }

  /** The entry when it is new or changed; undefined when it is as known, or no entry. */
  #look(shard: Shard, hex: string, known: Entry | undefined, hasBody: boolean): Entry | undefined {
    const { limits } = this.#options
    const badKey = shard.bad.get(hex)
    if (hasBody && (known !== undefined || badKey !== undefined)) {
      const stats = fs.lstatSync(sidecarPath(shard.dir, hex), { throwIfNoEntry: false })
      const isOld = stats !== undefined && Date.now() - stats.mtimeMs > settleMs
      if (isOld && fileKey(stats) === (known?.key ?? badKey)) return undefined
    }
    const reading = readEntry(shard.dir, hex, limits)
    if (reading.state === 'entry') {
      shard.bad.delete(hex)
      return isSame(known, reading.entry) ? undefined : reading.entry
    }
    if (reading.state === 'bad') this.#reject(shard, hex, reading.reason, reading.key)
    return undefined
  }

  #reject(shard: Shard, hex: string, reason: string, key: string): void {
    if (shard.bad.get(hex) !== key) {
      this.#options.log.warn({ sidecar: `${hex}.json`, reason }, 'artefact hidden: bad sidecar')
    }
    shard.bad.set(hex, key)
  }
}

/** Read again only because its time was too fresh to be told apart. */
function isSame(known: Entry | undefined, read: Entry): boolean {
  if (known === undefined || known.key !== read.key) return false
  return JSON.stringify(known.ref) === JSON.stringify(read.ref)
}
