import { isDeepStrictEqual } from 'node:util'
import { type JSONPath, modify, type Node, parse, parseTree } from 'jsonc-parser'
import { arrayOf, type JsonObject, isJsonObject } from '../../util/json.ts'
import { ServiceError, unusableFile } from '../../util/errors.ts'
import { findFault } from '../json-fault.ts'
import type { Client } from './clients.ts'
import { type Entry, newSettings } from './entry.ts'

/** What helps when this program cannot change the file. */
export const pasteHint = 'paste the entry yourself'

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
