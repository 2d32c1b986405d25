import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'
import { bundlePython } from './python-bundle.ts'
import type { NamedFile } from './zip-folder.ts'

/** The add-on's folder in Blender: also the name of its Python module. */
export const blenderModule = 'service_cli_link'
/** The client that every Python program can use, the add-on included: one file of many modules. */
export const pythonClient = 'service_host_link.py'
const pythonPackage = 'service_host_link'

/** The package's own files; `src` and `dist` lie equally deep. */
const packaged = fileURLToPath(new URL('../../../adapters', import.meta.url))

/** Every file of the add-on, with the Python client beside its modules. */
export async function readBlenderAddon(adapters: string = packaged): Promise<NamedFile[]> {
  const own = await filesBelow(join(adapters, 'blender', blenderModule))
  const client = { path: pythonClient, bytes: await readPythonClient(adapters) }
  return [...own.filter(({ path }) => path !== pythonClient), client]
}

export async function readPythonClient(adapters: string = packaged): Promise<Uint8Array> {
  const folder = join(adapters, 'python', pythonPackage)
  const files = await filesBelow(folder)
  const bundle = bundlePython(module => {
    const file = files.find(({ path }) => path === `${module}.py`)
    if (file === undefined) throw incomplete(join(folder, `${module}.py`))
    return Buffer.from(file.bytes).toString()
  })
  return Buffer.from(bundle)
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
