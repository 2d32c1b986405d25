import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ensurePrivateFolder } from '../../lib/config/private-file.ts'
import { isArtefactHex } from '../../lib/mcp/artefact-uri.ts'
import { isMissing } from '../../lib/util/errors.ts'
import { fsyncDirectory, noFollow, noWait } from '../../lib/util/posix.ts'
import { renameFile, writeNewFile } from '../../lib/util/replace-file.ts'
import { type Clock, systemClock } from '../../lib/util/time.ts'
import {
  type ArtefactFiles,
  type Body,
  shardNames,
  type StoredSidecar,
  type Versions,
  type Spooled,
} from './files.ts'

/** Clocks of file systems tick in steps of some milliseconds: two changes may share one time. */
const mtimeStepMs = 20
/** What was not written, renamed or copied for so long was left behind by a killed process. */
const leftoverMs = 60 * 60 * 1000
/** A multiple of 3, so that pieces turn into base64 without remainder. */
const pieceBytes = 384 * 1024

interface Shard {
  readonly name: string
  readonly path: string
  /** When its contents were last read; null: they must be read again. */
  mtimeMs: number | null
}

/** Artefacts as files of this machine. The folder may be shared with other processes of the user. */
export class ArtefactFolder implements ArtefactFiles {
  readonly refreshMs = 1000
  readonly expiresByItself = false
  readonly spoolFolder: string
  readonly #root: string
  readonly #clock: Clock
  #spoolMtimeMs: number | null = null
  readonly #shards: Shard[]

  constructor(root: string, clock = systemClock) {
    this.#root = resolve(root)
    this.#clock = clock
    this.spoolFolder = join(this.#root, 'tmp')
    const bodies = join(this.#root, 'sha256')
    this.#shards = shardNames.map(name => ({ name, path: join(bodies, name), mtimeMs: null }))
  }

  async open(): Promise<void> {
    const bodies = join(this.#root, 'sha256')
    for (const path of [this.#root, bodies, this.spoolFolder]) await ensurePrivateFolder(path)
    for (const path of [this.#root, dirname(this.#root)]) await fsyncDirectory(path)
  }

  /** Each put passes through the spool folder, whose time therefore tells of it. */
  hasChanges(): boolean {
    return mtimeOf(this.spoolFolder) !== this.#spoolMtimeMs
  }

  async changedShards(): Promise<ReadonlyMap<string, Versions>> {
    const changed = new Map<string, Versions>()
    const spoolMtimeMs = mtimeOf(this.spoolFolder)
    const names = spoolMtimeMs === null ? [] : fs.readdirSync(this.spoolFolder)
    for (const name of names) this.#removeLeftover(join(this.spoolFolder, name))
    const read = new Map<Shard, number | null>()
    for (const shard of this.#shards) {
      const mtimeMs = mtimeOf(shard.path)
      if (mtimeMs === null) {
        changed.set(shard.name, new Map())
      } else if (mtimeMs !== shard.mtimeMs) {
        const { versions, hasLeftovers } = this.#contentsOf(shard.path)
        read.set(shard, hasLeftovers ? null : settled(mtimeMs))
        changed.set(shard.name, versions)
        await nextTurn()
      }
    }
    // Only now: after a failure they are read again.
    for (const [shard, mtimeMs] of read) shard.mtimeMs = mtimeMs
    this.#spoolMtimeMs = settled(spoolMtimeMs)
    return changed
  }

  async sidecar(hex: string): Promise<StoredSidecar | null> {
    const path = `${this.#pathOf(hex)}.json`
    const version = versionOf(statsOf(path))
    if (version === null) return null
    try {
      return { version, text: fs.readFileSync(path, 'utf8') }
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  /** The order makes a crash harmless: the sidecar, which makes it an artefact, comes last. */
  async save(body: Spooled, describe: (previous: string | null) => string): Promise<string> {
    const path = this.#pathOf(body.hex)
    const shard = dirname(path)
    const made = await mkdir(shard, { recursive: true, mode: 0o700 })
    if (made !== undefined) await fsyncDirectory(dirname(shard))
    const previous = fs.existsSync(path) ? await this.sidecar(body.hex) : null
    const temporary = `${body.path}.json`
    try {
      const text = describe(previous?.text ?? null)
      await Promise.all([body.sync(), writeNewFile(temporary, text)])
      await renameFile(body.path, path)
      await renameFile(temporary, `${path}.json`)
    } finally {
      await rm(temporary, { force: true })
    }
    await fsyncDirectory(shard)
    return versionOf(statsOf(`${path}.json`)) ?? ''
  }

  async body(hex: string): Promise<Body | null> {
    const flags = fs.constants.O_RDONLY | noFollow | noWait
    const file = await open(this.#pathOf(hex), flags).catch(error => {
      if (isMissing(error)) return null
      throw error
    })
    if (file === null) return null
    const { size, ino, mtimeMs, ctimeMs } = await file.stat()
    return {
      size,
      state: `${ino}.${mtimeMs}.${ctimeMs}`,
      read: (start, end) => piecesOf(file, start, end),
      close: () => file.close(),
    }
  }

  async remove(hex: string, version: string): Promise<void> {
    const path = this.#pathOf(hex)
    const [sidecar, body] = [statsOf(`${path}.json`), statsOf(path)]
    if (sidecar === undefined || versionOf(sidecar) !== version) return
    if (!this.#removeFile(`${path}.json`, sidecar)) return
    // A body that is younger than its sidecar is of a put that is about to write its own.
    if (body && body.ctimeMs <= sidecar.ctimeMs) this.#removeFile(path, body)
    await fsyncDirectory(dirname(path))
  }

  close(): void {}

  #pathOf(hex: string): string {
    return join(this.#root, 'sha256', hex.slice(0, 2), hex)
  }

  /** Removes bodies that were left behind, too; `hasLeftovers`: some are not old enough yet. */
  #contentsOf(folder: string): { versions: Versions; hasLeftovers: boolean } {
    const names = new Set(fs.readdirSync(folder))
    const versions = new Map<string, string>()
    let hasLeftovers = false
    for (const hex of names) {
      if (!isArtefactHex(hex)) continue
      const path = join(folder, hex)
      if (names.has(`${hex}.json`)) {
        const version = versionOf(statsOf(`${path}.json`))
        if (version !== null) versions.set(hex, version)
      } else if (!this.#removeLeftover(path)) hasLeftovers = true
    }
    return { versions, hasLeftovers }
  }

  /** By the time of its last change: tools that copy files may keep the time of their bytes. */
  #removeLeftover(path: string): boolean {
    const stats = statsOf(path)
    if (!stats?.isFile() || this.#clock.now() - stats.ctimeMs <= leftoverMs) return false
    return this.#removeFile(path, stats)
  }

  /**
   * Removes the file that was looked at. Another process may put a new one in its place at any moment:
   * therefore it is renamed first, and put back when it is another one. Returns whether it is gone.
   */
  #removeFile(path: string, { ino, mtimeMs }: fs.Stats): boolean {
    const aside = join(this.spoolFolder, randomUUID())
    fs.mkdirSync(this.spoolFolder, { recursive: true, mode: 0o700 })
    try {
      fs.renameSync(path, aside)
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
    const moved = fs.lstatSync(aside)
    const isIt = moved.ino === ino && moved.mtimeMs === mtimeMs
    if (isIt) fs.rmSync(aside)
    else fs.renameSync(aside, path)
    return isIt
  }
}

/** Fresh memory for each piece would pile up until the collector runs: three are used in turn. */
async function* piecesOf(file: FileHandle, start: number, end: number): AsyncGenerator<Uint8Array> {
  const ring: Buffer[] = []
  for (let at = start, turn = 0; at < end; turn = (turn + 1) % 3) {
    const piece = (ring[turn] ??= Buffer.allocUnsafeSlow(Math.min(pieceBytes, end - at)))
    const length = Math.min(piece.length, end - at)
    const { bytesRead } = await file.read(piece, 0, length, at)
    if (bytesRead === 0) return
    yield piece.subarray(0, bytesRead)
    at += bytesRead
  }
}

/** Null when the folder is missing. */
function mtimeOf(folder: string): number | null {
  return fs.statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? null
}

/** The time; null when a later change could carry the same one. */
function settled(mtimeMs: number | null): number | null {
  return mtimeMs !== null && Date.now() - mtimeMs > mtimeStepMs ? mtimeMs : null
}

function statsOf(path: string): fs.Stats | undefined {
  return fs.lstatSync(path, { throwIfNoEntry: false })
}

/** Null when there is no such file. A file that replaced another one has another version. */
function versionOf(stats: fs.Stats | undefined): string | null {
  return stats?.isFile() ? `${stats.ino}.${stats.mtimeMs}.${stats.ctimeMs}.${stats.size}` : null
}
