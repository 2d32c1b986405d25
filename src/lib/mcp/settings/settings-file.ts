import { access, lstat, mkdir, readFile } from 'node:fs/promises'
import { dirname, posix, win32 } from 'node:path'
import { parse } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { errnoOf, isMissing, readProblem, ServiceError, unusableFile } from '../../util/errors.ts'
import { arrayOf, isJsonObject } from '../../util/json.ts'
import { replaceFile, writeNewFile } from '../../util/replace-file.ts'
import type { Client, Scope } from './clients.ts'
import { type Entry, newSettings } from './entry.ts'
import { type MergedSettings, mergeEntry, pasteHint } from './merge-entry.ts'

/** The machine and the user. */
export interface Place {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly cwd: string
}

/** The paths where the client looks, the preferred one first. */
export function settingsPaths(client: Client, scope: Scope, place: Place): string[] {
  const { platform, env } = place
  const { user = [], project = [], fileVariable } = client
  if (scope === 'project') return project.map(path => expand(path, place) ?? path)
  const named = fileVariable === undefined ? undefined : env[fileVariable]
  // Clients resolve a relative path differently.
  if (named !== undefined && pathOf(place).isAbsolute(named)) return [named]
  const paths = 'length' in user ? user : (user[platform] ?? [])
  return paths.flatMap(path => expand(path, place) ?? [])
}

/** The settings file of the client: of several the first that exists; null when it has none. */
export async function findSettings(
  client: Client,
  scope: Scope,
  place: Place,
): Promise<string | null> {
  const paths = settingsPaths(client, scope, place)
  for (const path of paths) {
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return paths[0] ?? null
}

/** Null for a path with a variable that is not set and has no default. */
function expand(path: string, place: Place): string | null {
  const [, variable, usual, rest = ''] = /^(?:\$\{(\w+)(?::-(.+?))?\})?(.*)$/.exec(path) ?? []
  const { join, isAbsolute } = pathOf(place)
  const value = variable === undefined ? '' : (place.env[variable] ?? '')
  if (isAbsolute(value)) return join(value, rest)
  if (variable !== undefined && usual === undefined) return null
  const text = `${usual ?? ''}${rest}`
  return text.startsWith('~') ? join(place.home, text.slice(1)) : join(place.cwd, text)
}

function pathOf({ platform }: Place): typeof posix {
  return platform === 'win32' ? win32 : posix
}

export interface WrittenEntry extends Pick<MergedSettings, 'change'> {
  /** The copy of the old content; null for a new or unchanged file. */
  readonly backup: string | null
}

interface WriteEntryParts {
  readonly path: string
  readonly client: Client
  readonly entry: Entry
  readonly force: boolean
  /** A new file gets mode 0600, and new folders 0700. */
  readonly isPrivate: boolean
}

/**
 * Merges the entry into the settings file, by one atomic replacement that keeps mode and owner, with
 * a copy of the old file beside it. Throws `config_invalid` for a file that cannot be edited,
 * `entry_exists` for an entry that differs; errors of the file system pass through.
 */
export async function writeEntry(parts: WriteEntryParts): Promise<WrittenEntry> {
  const { path, client, entry, force, isPrivate } = parts
  const found = await readSettings(path)
  if (found === null) {
    const text = newSettings(client, entry)
    await mkdir(dirname(path), { recursive: true, mode: isPrivate ? 0o700 : 0o777 })
    await replaceFile(path, text, { access: isPrivate ? 'private' : 'umask' })
    return { change: 'added', backup: null }
  }
  const { text, stats } = found
  const merged = mergeEntry(path, text, client, entry, force)
  const { change } = merged
  if (change === 'unchanged') return { change, backup: null }
  // Sorts by time, and is valid in file names everywhere.
  const backup = `${path}.${new Date().toISOString().replaceAll(/[-:]/g, '')}.bak`
  await writeNewFile(backup, text, { access: stats })
  await replaceFile(path, merged.text, { access: stats })
  return { change, backup }
}

/** Null when the file does not exist. */
async function readSettings(path: string) {
  try {
    const stats = await lstat(path)
    if (stats.isSymbolicLink()) throw unusableFile(path, 'is a symbolic link', pasteHint)
    if (!stats.isFile()) throw unusableFile(path, 'is not a regular file', pasteHint)
    // A replacement would not respect it.
    if ((stats.mode & 0o200) === 0) throw unusableFile(path, 'is read-only', pasteHint)
    const bytes = await readFile(path)
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), stats }
  } catch (error) {
    if (isMissing(error)) return null
    if (error instanceof ServiceError) throw error
    const problem =
      errnoOf(error) === null ? 'is not UTF-8' : `cannot be read: ${readProblem(error)}`
    throw unusableFile(path, problem, pasteHint)
  }
}

/** What switches the entry off in the settings of its client; null: nothing that is known. */
export async function whySwitchedOff(
  { format, section }: Client,
  path: string,
  name: string,
): Promise<string | null> {
  try {
    const text = await readFile(path, 'utf8')
    return findSwitch(format === 'toml' ? parseToml(text) : parse(text), section, name)
  } catch {
    return null
  }
}

/** What switches the entry off in the settings of its client; null: nothing. */
function findSwitch(settings: unknown, section: string, name: string): string | null {
  if (!isJsonObject(settings)) return null
  const entries = settings[section]
  const entry = isJsonObject(entries) ? entries[name] : undefined
  if (isJsonObject(entry) && entry.enabled === false) return 'its "enabled" is false'
  if (isJsonObject(entry) && entry.disabled === true) return 'its "disabled" is true'
  // Of Gemini CLI and Qwen Code.
  const { mcp, projects } = settings
  const { excluded, allowed } = isJsonObject(mcp) ? mcp : {}
  if (arrayOf(excluded).includes(name)) return '"mcp.excluded" has its name'
  if (Array.isArray(allowed) && !allowed.includes(name)) return '"mcp.allowed" lacks its name'
  // Of Claude Code.
  const folders = Object.entries(isJsonObject(projects) ? projects : {}).filter(
    ([, project]) => isJsonObject(project) && arrayOf(project.disabledMcpServers).includes(name),
  )
  if (folders.length === 0) return null
  return `"disabledMcpServers" has its name for ${folders.map(([folder]) => folder).join(', ')}`
}
