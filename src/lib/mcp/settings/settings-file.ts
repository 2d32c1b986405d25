import { lstat, mkdir, readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { parse } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { errnoOf, isMissing, readProblem, ServiceError, unusableFile } from '../../util/errors.ts'
import { replaceFile, writeNewFile } from '../../util/replace-file.ts'
import type { Client, Scope } from './clients.ts'
import { type Entry, newSettings } from './entry.ts'
import { mergeEntry, pasteHint } from './merge-entry.ts'

/** The machine and the user. */
export interface Place {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
}

/** The paths where the client looks, the preferred one first. */
export function settingsPaths(client: Client, scope: Scope, place: Place): string[] {
  const { user = [], project = [] } = client
  if (scope === 'project') return project.map(path => resolve(path))
  const paths = 'length' in user ? user : (user[place.platform] ?? [])
  return paths.map(path => expand(path, place))
}

/** The settings file of the client: of several the first that exists; null when it has none. */
export function findSettings(client: Client, scope: Scope, place: Place): string | null {
  const paths = settingsPaths(client, scope, place)
  return paths.find(path => existsSync(path)) ?? paths[0] ?? null
}

function expand(path: string, { env, home }: Place): string {
  const [, variable = '', usual = '', rest = ''] = /^(?:\$\{(\w+):-(.+?)\})?(.*)$/.exec(path) ?? []
  const value = env[variable]
  // Clients resolve a relative path differently.
  if (value !== undefined && isAbsolute(value)) return join(value, rest)
  return join(home, `${usual}${rest}`.replace('~', ''))
}

/**
 * Merges the entry into the settings file, by one atomic replacement that keeps mode and owner, with
 * a copy of the old file beside it. Throws `config_invalid` for a file that cannot be edited,
 * `entry_exists` for an entry that differs; errors of the file system pass through. `backup` is the
 * path of the copy; null for a new or unchanged file. A new file of the user has mode 0600.
 */
export async function writeEntry(
  path: string,
  client: Client,
  entry: Entry,
  { scope, force }: { scope: Scope; force: boolean },
) {
  const found = await readSettings(path)
  if (found === null) {
    const text = newSettings(client, entry)
    const isPrivate = scope === 'user'
    await mkdir(dirname(path), { recursive: true, mode: isPrivate ? 0o700 : 0o777 })
    await replaceFile(path, text, { access: isPrivate ? 'private' : 'umask' })
    return { change: 'added', backup: null }
  }
  const { bytes, text, stats } = found
  const merged = mergeEntry(path, text, client, entry, force)
  const { change } = merged
  if (change === 'unchanged') return { change, backup: null }
  // Sorts by time, and is valid in file names everywhere.
  const backup = `${path}.${new Date().toISOString().replaceAll(/[-:]/g, '')}.bak`
  await writeNewFile(backup, bytes, { access: stats })
  await replaceFile(path, merged.text, { access: stats })
  return { change, backup }
}

/** Null when the file does not exist. */
async function readSettings(path: string) {
  try {
    const stats = await lstat(path)
    if (stats.isSymbolicLink()) throw unusableFile(path, 'is a symbolic link', pasteHint)
    const bytes = await readFile(path)
    return { bytes, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), stats }
  } catch (error) {
    if (isMissing(error)) return null
    if (error instanceof ServiceError) throw error
    const problem =
      errnoOf(error) === null ? 'is not UTF-8' : `cannot be read: ${readProblem(error)}`
    throw unusableFile(path, problem, pasteHint)
  }
}

/** The names of the entries with this URL; none where the settings are missing or of another shape. */
export async function entriesWith(url: string, { format, section }: Client, path: string) {
  try {
    const text = await readFile(path, 'utf8')
    const settings: any = format === 'toml' ? parseToml(text) : parse(text)
    const { [section]: entries = {} } = settings
    const has = (entry: unknown) => JSON.stringify(entry).includes(JSON.stringify(url))
    return Object.keys(entries).filter(name => has(entries[name]))
  } catch {
    return []
  }
}
