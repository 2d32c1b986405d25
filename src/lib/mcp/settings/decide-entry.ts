import { isDeepStrictEqual } from 'node:util'
import { type JsonObject, isJsonObject } from '../../util/json.ts'
import { type Result, fail, ok } from '../../util/result.ts'
import { asText } from '../../util/text.ts'

export type Change = 'added' | 'updated' | 'replaced' | 'unchanged'

/** Sets a member below the entry; an empty path sets the entry itself. */
export interface EntryEdit {
  readonly path: readonly string[]
  readonly value: unknown
}

interface EntryDecision {
  readonly change: Change
  readonly edits: readonly EntryEdit[]
}

export type EntryRefusal =
  /** An entry of this name leads to another server. */
  | { readonly kind: 'other_address'; readonly address: string | null }
  /** The entry leads to the same server, but these members differ. */
  | { readonly kind: 'differs'; readonly members: readonly string[] }

/**
 * Finds the edits that turn `found` into `wanted`. Adds missing members and keeps additional ones.
 * Changes existing members, or an entry of another server, only with `force`.
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

/** Member names that clients use, or used, for the address. */
const urlMembers = ['url', 'httpUrl', 'baseUrl', 'serverUrl']

/**
 * The address of an entry: its URL, else the arguments of `service-cli connect` or `serve --stdio`,
 * else the command. Null for an entry without an address.
 */
export function addressOf(entry: JsonObject): string | null {
  for (const member of urlMembers) {
    const url = entry[member]
    if (typeof url === 'string') return URL.canParse(url) ? new URL(url).href : url
  }
  const { command, args } = entry
  // opencode puts command and arguments in one list.
  if (typeof command !== 'string' && !Array.isArray(command)) return null
  const words = [command, Array.isArray(args) ? args : []].flat().map(asText)
  const connect = words.findIndex(
    (word, at) => word === 'connect' || (word === 'serve' && words[at + 1] === '--stdio'),
  )
  return words.slice(Math.max(connect, 0)).join(' ')
}

/** Drops `url` and `type` when the entry has the address under another name. */
function withoutAliased(found: JsonObject, wanted: JsonObject): JsonObject {
  if (found.url !== undefined || wanted.url === undefined) return wanted
  const { url: _url, type: _type, ...rest } = wanted
  return rest
}

function compare(
  found: JsonObject,
  wanted: JsonObject,
  above: string[],
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

/** Header names are case-insensitive. */
function existingName(found: JsonObject, name: string, above: string[]): string {
  if (above.at(-1) !== 'headers') return name
  const same = (key: string): boolean => key.toLowerCase() === name.toLowerCase()
  return Object.keys(found).find(same) ?? name
}

function isSame(key: string, found: unknown, wanted: unknown): boolean {
  // `addressOf` has already compared the addresses.
  if (urlMembers.includes(key)) return true
  return isDeepStrictEqual(found, wanted)
}
