import { isDeepStrictEqual } from 'node:util'
import { type JsonObject, isJsonObject } from '../../util/json.ts'
import { type Result, fail, ok } from '../../util/result.ts'

export type Change = 'added' | 'updated' | 'replaced' | 'unchanged'

/** Something to put below the entry; an empty path is the entry itself. */
export interface EntryEdit {
  readonly path: readonly string[]
  readonly value: unknown
}

interface EntryDecision {
  readonly change: Change
  readonly edits: readonly EntryEdit[]
}

export type EntryRefusal =
  /** The name is taken by an entry that leads to something else. */
  | { readonly kind: 'other_address'; readonly address: string | null }
  /** It leads to the same place, and somebody set these members to something else. */
  | { readonly kind: 'differs'; readonly members: readonly string[] }

/**
 * What makes `found` do what `wanted` says. What is missing is added and what somebody added
 * stays; nothing that is there changes, and no name changes hands, unless it is forced.
 */
export function decideEntry(
  found: unknown,
  wanted: JsonObject,
  force: boolean,
): Result<EntryDecision, EntryRefusal> {
  if (found === undefined) return ok({ change: 'added', edits: [{ path: [], value: wanted }] })
  const address = isJsonObject(found) ? addressOf(found) : null
  if (!isJsonObject(found) || address === null || address !== addressOf(wanted)) {
    if (!force) return fail({ kind: 'other_address', address })
    return ok({ change: 'replaced', edits: [{ path: [], value: wanted }] })
  }
  const { missing, different } = compare(found, withoutAliased(found, wanted), [])
  if (different.length > 0 && !force) {
    return fail({ kind: 'differs', members: different.map(({ path }) => path.join('.')) })
  }
  const edits = [...missing, ...different]
  return ok({ change: edits.length === 0 ? 'unchanged' : 'updated', edits })
}

/** Names that clients have, or had, for the address. */
const urlMembers = ['url', 'httpUrl', 'baseUrl', 'serverUrl']

/**
 * Where an entry leads: its URL, else what `service-cli connect` or `serve --stdio` is asked for,
 * else the command.
 * Null for an entry that leads nowhere.
 */
export function addressOf(entry: JsonObject): string | null {
  for (const member of urlMembers) {
    const url = entry[member]
    if (typeof url === 'string') return URL.canParse(url) ? new URL(url).href : url
  }
  const { command, args } = entry
  // opencode has all words in one list.
  if (typeof command !== 'string' && !Array.isArray(command)) return null
  const words = [command, Array.isArray(args) ? args : []].flat().map(String)
  const connect = words.findIndex(
    (word, at) => word === 'connect' || (word === 'serve' && words[at + 1] === '--stdio'),
  )
  return words.slice(Math.max(connect, 0)).join(' ')
}

/** Where the address has another name, that and its kind are said already. */
function withoutAliased(found: JsonObject, wanted: JsonObject): JsonObject {
  if (found.url !== undefined || wanted.url === undefined) return wanted
  const { url: _url, type: _type, ...rest } = wanted
  return rest
}

function compare(
  found: JsonObject,
  wanted: JsonObject,
  above: readonly string[],
): { missing: EntryEdit[]; different: EntryEdit[] } {
  const missing: EntryEdit[] = []
  const different: EntryEdit[] = []
  for (const [name, value] of Object.entries(wanted)) {
    const key = existingName(found, name, above)
    const path = [...above, key]
    const there = found[key]
    if (there === undefined) missing.push({ path, value })
    else if (isJsonObject(there) && isJsonObject(value)) {
      const inner = compare(there, value, path)
      missing.push(...inner.missing)
      different.push(...inner.different)
    } else if (!isSame(key, there, value)) different.push({ path, value })
  }
  return { missing, different }
}

/** The names of headers are the same in any case. */
function existingName(found: JsonObject, name: string, above: readonly string[]): string {
  if (above.at(-1) !== 'headers') return name
  const same = (key: string): boolean => key.toLowerCase() === name.toLowerCase()
  return Object.keys(found).find(same) ?? name
}

function isSame(key: string, found: unknown, wanted: unknown): boolean {
  // That they lead to the same place was found before, however they spell it.
  if (urlMembers.includes(key)) return true
  return isDeepStrictEqual(found, wanted)
}
