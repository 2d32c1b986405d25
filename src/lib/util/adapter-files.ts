import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errnoOf, ServiceError } from './errors.ts'
import { type Zippable, zipSync } from 'fflate'

/** The add-on's folder in Blender: also the name of its Python module. */
export const blenderModule = 'service_cli_link'
/** The client that every Python program can use, the add-on included. */
export const pythonClient = 'service_host_link.py'

/** The package's own files; `src` and `dist` lie equally deep. */
const packaged = fileURLToPath(new URL('../../../adapters', import.meta.url))

/** The list of the adapters, in the format of a catalog (docs/catalog.md). */
export const bundledCatalog: string = join(packaged, 'catalog.json')

/** Every file of the add-on, with the Python client beside its modules. */
export async function readBlenderAddon(adapters: string = packaged): Promise<NamedFile[]> {
  const own = await filesBelow(join(adapters, 'blender', blenderModule))
  const client = { path: pythonClient, bytes: await readPythonClient(adapters) }
  return [...own.filter(({ path }) => path !== pythonClient), client]
}

export async function readPythonClient(adapters: string = packaged): Promise<Uint8Array> {
  const file = join(adapters, 'python', pythonClient)
  return readFile(file).catch(error => {
    throw incomplete(file, error)
  })
}

/** Regular files; what Python or an editor left behind stays out, links too. */
async function filesBelow(folder: string): Promise<NamedFile[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const paths = entries
      .filter(entry => entry.isFile())
      .map(entry => relative(folder, join(entry.parentPath, entry.name)))
      .filter(path => path.split(sep).every(isShipped))
    if (paths.length === 0) throw incomplete(folder)
    return await Promise.all(
      paths.map(async path => ({
        path: path.replaceAll(sep, '/'),
        bytes: await readFile(join(folder, path)),
      })),
    )
  } catch (error) {
    throw error instanceof ServiceError ? error : incomplete(folder, error)
  }
}

function isShipped(name: string): boolean {
  return !name.startsWith('.') && name !== '__pycache__' && !/\.py[co]$/.test(name)
}

function incomplete(path: string, cause?: unknown): ServiceError {
  const why = errnoOf(cause) ?? 'nothing is there'
  return new ServiceError('internal', `this copy of service-cli lacks ${path} (${why})`, {
    cause,
    hint: 'install service-cli anew',
  })
}

/** One file to be packed: its path in the archive's folder, with `/` between the names. */
export interface NamedFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/**
 * A zip holds no zone: its times are those of a wall clock, and 1980 is the earliest. Made from
 * local parts because the archiver reads local parts; noon exists everywhere.
 */
const packedAt = new Date(1980, 0, 1, 12)
/** Written by Unix, a regular file, `rw-r--r--`: unpacks alike whoever packed it. */
const unix = { os: 3, attrs: (0o100644 << 16) >>> 0 } as const

/**
 * The files as a zip with one folder in it. The same files give the same bytes, in whatever order
 * they come, on whatever machine.
 */
export function zipFolder(folder: string, files: readonly NamedFile[]): Uint8Array {
  const entries: Zippable = {}
  for (const { path, bytes } of files.toSorted(byPath)) entries[`${folder}/${path}`] = [bytes, unix]
  return zipSync(entries, { level: 9, mtime: packedAt })
}

/** By code unit: a sort by locale differs between machines. */
function byPath(left: NamedFile, right: NamedFile): number {
  if (left.path === right.path) return 0
  return left.path < right.path ? -1 : 1
}
