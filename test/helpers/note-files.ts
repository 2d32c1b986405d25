import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** The folder of the note with this id, below a folder of documents. */
export async function folderOfNote(documents: string, id: string): Promise<string> {
  const paths = await readdir(documents, { recursive: true })
  for (const path of paths.filter(each => basename(each) === '0000-add.json')) {
    const { id: found } = JSON.parse(await readFile(join(documents, path), 'utf8'))
    if (found === id) return join(documents, dirname(path))
  }
  throw new Error(`there is no note ${id} in ${documents}`)
}

/** Writes a note beside another one, as a server does; its further files by name. */
export async function writeNote(
  beside: string,
  number: number,
  note: Record<string, unknown>,
  files: Record<string, object> = {},
): Promise<string> {
  const folder = join(dirname(beside), String(number).padStart(4, '0'))
  const { number: _, state: __, entries: ___, ...added } = note
  await mkdir(folder, { mode: 0o700, recursive: true })
  for (const [name, value] of Object.entries({ '0000-add.json': added, ...files })) {
    await writeFile(join(folder, name), JSON.stringify(value), { mode: 0o600 })
  }
  return folder
}
