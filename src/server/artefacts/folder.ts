import * as fs from 'node:fs'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ensurePrivateFolder } from '../../lib/config/private-file.ts'
import { isArtefactHex } from '../../lib/mcp/uris.ts'
import { isMissing } from '../../lib/util/errors.ts'
import { fsyncDirectory, noFollow, noWait } from '../../lib/util/posix.ts'
import { renameFile, writeNewFile } from '../../lib/util/replace-file.ts'
import {
  type ArtefactFiles,
  type Body,
  shardNames,
  type StoredSidecar,
  type Versions,
} from './files.ts'
import type { Spooled } from './spool.ts'

/** Clocks of file systems tick in steps of some milliseconds: two changes may share one time. */
const settleMs = 20
/** What nothing wrote to for so long was left behind by a process that was killed. */
const leftoverMs = 60 * 60 * 1000
/** A multiple of 3, so that pieces turn into base64 without remainder. */
const pieceBytes = 384 * 1024

/** Artefacts as files of this machine. The folder may be shared with other processes of the user. */
export class ArtefactFolder implements ArtefactFiles {
  readonly refreshMs = 1000
  readonly spoolFolder: string
  readonly #root: string
  #spoolMtimeMs: number | null = null
  readonly #shards: { readonly name: string; readonly path: string; mtimeMs: number | null }[]

  constructor(root: string) {
    this.#root = resolve(root)
    this.spoolFolder = join(this.#root, 'tmp')
    const bodies = join(this.#root, 'sha256')
    this.#shards = shardNames.map(name => ({ name, path: join(bodies, name), mtimeMs: null }))
  }

  async open(): Promise<void> {
    const bodies = join(this.#root, 'sha256')
    for (const path of [this.#root, bodies, this.spoolFolder]) await ensurePrivateFolder(path)
    for (const path of [this.#root, dirname(this.#root)]) await fsyncDirectory(path)
    for (const name of fs.readdirSync(this.spoolFolder))
      removeLeftover(join(this.spoolFolder, name))
  }

  /** Each put passes through the spool folder, whose time therefore tells of it. */
  hasNews(): boolean {
    return mtimeOf(this.spoolFolder) !== this.#spoolMtimeMs
  }

  async changedShards(): Promise<ReadonlyMap<string, Versions>> {
    const changed = new Map<string, Versions>()
    this.#spoolMtimeMs = settled(mtimeOf(this.spoolFolder))
    for (const shard of this.#shards) {
      const mtimeMs = mtimeOf(shard.path)
      if (mtimeMs === null) {
        changed.set(shard.name, new Map())
      } else if (mtimeMs !== shard.mtimeMs) {
        shard.mtimeMs = settled(mtimeMs)
        changed.set(shard.name, versionsIn(shard.path))
        await nextTurn()
      }
    }
    return changed
  }

  async sidecar(hex: string): Promise<StoredSidecar | null> {
    const path = `${this.#pathOf(hex)}.json`
    const version = versionOf(path)
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
    return versionOf(`${path}.json`) ?? ''
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

  async remove(hex: string): Promise<void> {
    const path = this.#pathOf(hex)
    // In this order: without its sidecar it is no artefact, whatever happens to the body.
    for (const each of [`${path}.json`, path]) await rm(each, { force: true })
    await fsyncDirectory(dirname(path))
  }

  close(): void {}

  #pathOf(hex: string): string {
    return join(this.#root, 'sha256', hex.slice(0, 2), hex)
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
  return mtimeMs !== null && Date.now() - mtimeMs > settleMs ? mtimeMs : null
}

/** Null when there is no such file. A file that replaced another one has another version. */
function versionOf(path: string): string | null {
  const stats = fs.lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() ? `${stats.ino}.${stats.mtimeMs}.${stats.ctimeMs}.${stats.size}` : null
}

function versionsIn(folder: string): Map<string, string> {
  const names = new Set(fs.readdirSync(folder))
  const versions = new Map<string, string>()
  for (const hex of names) {
    if (!isArtefactHex(hex)) continue
    const path = join(folder, hex)
    if (!names.has(`${hex}.json`)) {
      removeLeftover(path)
      continue
    }
    const version = versionOf(`${path}.json`)
    if (version !== null) versions.set(hex, version)
  }
  return versions
}

function removeLeftover(path: string): void {
  const stats = fs.lstatSync(path, { throwIfNoEntry: false })
  if (stats !== undefined && Date.now() - stats.mtimeMs > leftoverMs)
    fs.rmSync(path, { force: true })
}
