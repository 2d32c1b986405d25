import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { NamedFile } from './zip-folder.ts'

/** The add-on's folder in Blender: also the name of its Python module. */
export const blenderModule = 'service_cli_link'
/** The client that every Python program can use, the add-on included: a folder, and the name of its module. */
export const pythonClient = 'service_host_link'

/** The package's own files; `src` and `dist` lie equally deep. */
const packaged = fileURLToPath(new URL('../../../adapters', import.meta.url))

/** Every file of the add-on, with the Python client in a folder of its own. */
export async function readBlenderAddon(adapters: string = packaged): Promise<NamedFile[]> {
  const own = await filesBelow(join(adapters, 'blender', blenderModule))
  const client = await readPythonClient(adapters)
  return [...own, ...client.map(({ path, bytes }) => ({ path: `${pythonClient}/${path}`, bytes }))]
}

export async function readPythonClient(adapters: string = packaged): Promise<NamedFile[]> {
  return filesBelow(join(adapters, 'python', pythonClient))
}

/** Regular files; what Python or an editor left behind stays out, links too. */
async function filesBelow(folder: string): Promise<NamedFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)))
    .filter(path => path.split(sep).every(isShipped))
  return Promise.all(
    paths.map(async path => ({
      path: path.replaceAll(sep, '/'),
      bytes: await readFile(join(folder, path)),
    })),
  )
}

function isShipped(name: string): boolean {
  return !name.startsWith('.') && name !== '__pycache__' && !/\.py[co]$/.test(name)
}
