import { lstat, mkdir, readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { parse, type JSONPath, modify, type Node, parseTree } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { errnoOf, isMissing, readProblem, ServiceError, unusableFile } from '../../util/errors.ts'
import { replaceFile, writeNewFile } from '../../util/replace-file.ts'
import type { Client, Scope } from './clients.ts'
import { type Entry, newSettings } from './entry.ts'
import { isDeepStrictEqual } from 'node:util'
import { arrayOf, type JsonObject, isJsonObject } from '../../util/json.ts'
import { findFault } from '../../util/json-fault.ts'

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

/** What switches the entry off in the settings of its client; null: nothing that is known. */
export async function whySwitchedOff({ format, section }: Client, path: string, name: string) {
  try {
    const text = await readFile(path, 'utf8')
    const settings: any = format === 'toml' ? parseToml(text) : parse(text)
    const entry = settings[section]?.[name]
    if (entry?.enabled === false) return 'its "enabled" is false'
    if (entry?.disabled === true) return 'its "disabled" is true'
    // Of Gemini CLI and Qwen Code.
    if (settings.mcp?.excluded?.includes(name)) return '"mcp.excluded" has its name'
    if (settings.mcp?.allowed?.includes(name) === false) return '"mcp.allowed" lacks its name'
    // Of Claude Code.
    const projects = Object.values<any>(settings.projects ?? {})
    const isOff = projects.some(project => project.disabledMcpServers?.includes(name))
    return isOff ? '"disabledMcpServers" of a project has its name' : null
  } catch {
    // The file is missing, or has another shape.
    return null
  }
}

/** What helps when this program cannot change the file. */
const pasteHint = 'paste the entry yourself'

/**
 * Merges the entry into JSON settings and keeps every other byte. `force` replaces an entry that
 * differs; further members of it do not count. `path` is for messages. Throws `config_invalid` for a
 * text that the client could not read or that has another shape, and `entry_exists`.
 */
export function mergeEntry(
  path: string,
  before: string,
  client: Client,
  wanted: Entry,
  force: boolean,
) {
  const { section, format } = client
  const { name, entry, input } = wanted
  if (before.trim() === '') return { change: 'added', text: newSettings(client, wanted) }
  const fault = findFault(before, format === 'json' ? 'json' : 'jsonc')
  if (fault !== null) {
    const place = `${path}:${fault.line}:${fault.column}`
    throw unusableFile(place, `is not valid JSON: ${fault.what}`, `correct it, or ${pasteHint}`)
  }
  const settings: unknown = parse(before)
  const refuse = (what: string) => unusableFile(path, what, pasteHint)
  if (!isJsonObject(settings)) throw refuse('does not contain an object')
  // Clients disagree on which of them counts.
  if (hasDuplicate(parseTree(before))) throw refuse('has two members of one name')
  const { [section]: entries = {}, inputs = [] } = settings
  if (!isJsonObject(entries)) throw refuse(`has an unexpected value under "${section}"`)
  if (input !== null && !Array.isArray(inputs)) {
    throw refuse('has an unexpected value under "inputs"')
  }
  const found = Object.hasOwn(entries, name) ? entries[name] : undefined
  if (hasMembers(found, entry)) return { change: 'unchanged', text: before }
  if (found !== undefined && !force) {
    const hint = 'choose another --name, or add --force to replace it'
    throw new ServiceError('entry_exists', `${path} has another entry "${name}"`, { hint })
  }
  const text = withValue(before, [section, name], entry)
  const isKnown = arrayOf(inputs).some(each => isJsonObject(each) && each.id === input?.id)
  return {
    change: found === undefined ? 'added' : 'replaced',
    text: input === null || isKnown ? text : withValue(text, ['inputs', 0], input),
  }
}

/** Whether the entry has all of these members; it may have more. */
function hasMembers(found: unknown, wanted: JsonObject): boolean {
  if (!isJsonObject(found)) return false
  return Object.entries(wanted).every(([name, value]) => isDeepStrictEqual(found[name], value))
}

function hasDuplicate({ type, children = [] }: Partial<Node> = {}): boolean {
  const names = type === 'object' ? children.map(member => member.children?.[0]?.value) : []
  return new Set(names).size < names.length || children.some(hasDuplicate)
}

/**
 * Sets a value and keeps every other byte. A new member comes first, where no comment can belong to
 * the one before it, with the indentation of the file.
 */
function withValue(text: string, path: JSONPath, value: unknown): string {
  const options = { getInsertionIndex: () => 0, isArrayInsertion: true }
  const [edit] = modify(text, path, value, options)
  if (edit === undefined) return text
  const { offset, length, content } = edit
  const [head, tail] = [text.slice(0, offset), text.slice(offset + length)]
  const unit = /^[ \t]+(?=")/m.exec(text)?.[0] ?? '  '
  const newline = /\r?\n/.exec(text)?.[0] ?? '\n'
  const outer = newline + (/^[ \t]*/.exec(head.slice(head.lastIndexOf('\n') + 1))?.[0] ?? '')
  const pretty = (json: unknown) => JSON.stringify(json, null, unit).replaceAll('\n', outer)
  if (length > 0) return head + pretty(value) + tail

  const comma = content.endsWith(',') ? ',' : ''
  const member = content.slice(0, content.length - comma.length)
  const endsLine = /^[ \t]*\r?\n/.test(tail)
  if (comma !== '' && !endsLine) return head + content + tail
  const parent = JSON.parse(head.endsWith('[') ? `[${member}]` : `{${member}}`)
  // Without the brackets, which are there already.
  const lines = pretty(parent).slice(1, -outer.length - 1)
  return head + lines + comma + (endsLine ? '' : outer) + tail
}
