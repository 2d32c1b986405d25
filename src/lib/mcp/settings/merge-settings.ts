import { isDeepStrictEqual } from 'node:util'
import { getNodeValue } from 'jsonc-parser'
import { type JsonObject, isJsonObject } from '../../util/json.ts'
import type { JsonDialect, JsonFault } from '../json-fault.ts'
import { type Result, fail, ok } from '../../util/result.ts'
import type { Client } from './client.ts'
import { type Change, type EntryEdit, type EntryRefusal, decideEntry } from './decide-entry.ts'
import { appendItem, setMember } from './json-edit.ts'
import { parseJsonText } from './parse-json-text.ts'
import { addToTable, parseToml, renderTable, setTable } from './toml-edit.ts'

/** The entry to write into the settings of a client. */
export interface WantedEntry {
  readonly format: Client['format']
  readonly section: string
  readonly name: string
  readonly entry: JsonObject
  /** An item of the list `inputs`, identified by its `id`. */
  readonly input: JsonObject | null
}

export interface MergedSettings {
  readonly change: Change
  readonly text: string
}

export type MergeRefusal =
  | EntryRefusal
  | { readonly kind: 'malformed'; readonly fault: JsonFault }
  /** The member, or the whole file when null, has an unexpected type. */
  | { readonly kind: 'shape'; readonly member: string | null }
  /** The text is valid but cannot be edited without other changes. */
  | { readonly kind: 'unfaithful' }

type Merge = Result<MergedSettings, MergeRefusal>

const byteOrderMark = '\uFEFF'

/**
 * Merges the entry into the settings. Keeps everything else, comments and newlines included. Parses
 * the new text again and checks that nothing else has changed.
 */
export function mergeSettings(before: string, wanted: WantedEntry, force: boolean): Merge {
  const mark = before.startsWith(byteOrderMark) ? byteOrderMark : ''
  const text = before.slice(mark.length)
  const merge = wanted.format === 'toml' ? mergeToml : mergeJson
  const merged = merge(text, wanted, force)
  if (!merged.ok || merged.value.change === 'unchanged') {
    return merged.ok ? ok({ change: 'unchanged', text: before }) : merged
  }
  return ok({ ...merged.value, text: mark + merged.value.text })
}

/** New settings with only this entry; also the text to paste. */
export function newSettings({ format, section, name, entry, input }: WantedEntry): string {
  if (format === 'toml') return renderTable(section, name, entry)
  if (format === 'yaml')
    return `${section}:\n  ${JSON.stringify(name)}:\n${yamlLines(entry, '    ')}`
  if (format === 'yaml-list') return `${section}:\n  - ${yamlLines(entry, '    ').trimStart()}`
  const all = { ...(input !== null && { inputs: [input] }), [section]: { [name]: entry } }
  return `${JSON.stringify(all, null, 2)}\n`
}

/** Members of an entry in block style; JSON scalars and lists are valid YAML. */
function yamlLines(entry: JsonObject, indent: string): string {
  const lines = Object.entries(entry).map(([name, value]) =>
    isJsonObject(value)
      ? `${indent}${name}:\n${yamlLines(value, `${indent}  `)}`
      : `${indent}${name}: ${JSON.stringify(value)}\n`,
  )
  return lines.join('')
}

function mergeJson(text: string, wanted: WantedEntry, force: boolean): Merge {
  const { section, name, entry, input } = wanted
  const dialect: JsonDialect = wanted.format === 'jsonc' ? 'jsonc' : 'json'
  if (text.trim() === '') return ok({ change: 'added', text: newSettings(wanted) })
  const parsed = parseJsonText(text, dialect)
  if (!parsed.ok) return fail({ kind: 'malformed', fault: parsed.failure })
  const root: unknown = getNodeValue(parsed.value)
  if (!isJsonObject(root)) return fail({ kind: 'shape', member: null })
  const entries = root[section]
  if (entries !== undefined && !isJsonObject(entries))
    return fail({ kind: 'shape', member: section })
  const inputs: unknown = input === null ? [] : (root.inputs ?? [])
  if (!Array.isArray(inputs)) return fail({ kind: 'shape', member: 'inputs' })
  const decided = decideEntry(own(entries, name), plain(entry), force)
  if (!decided.ok) return decided
  const isRequired =
    input === null || inputs.some(known => isJsonObject(known) && known.id === input.id)
  const { change, edits } = decided.value
  if (edits.length === 0 && isRequired) return ok({ change: 'unchanged', text })

  const expected = structuredClone(root) as Record<string, unknown>
  let edited: string | null = text
  for (const { path, value } of edits) {
    edited &&= setMember(edited, [section, name, ...path], value)
    put(expected, [section, name, ...path], value)
  }
  if (!isRequired) {
    edited &&= appendItem(edited, ['inputs'], input)
    expected.inputs = [...inputs, input]
  }
  if (edited === null || !means(edited, dialect, expected)) return fail({ kind: 'unfaithful' })
  return ok({ change: change === 'unchanged' ? 'updated' : change, text: edited })
}

function means(text: string, dialect: JsonDialect, expected: unknown): boolean {
  const parsed = parseJsonText(text, dialect)
  return parsed.ok && isDeepStrictEqual(plain(getNodeValue(parsed.value)), plain(expected))
}

function mergeToml(text: string, { section, name, entry }: WantedEntry, force: boolean): Merge {
  const parsed = parseToml(text)
  if (!parsed.ok) return fail({ kind: 'malformed', fault: parsed.failure })
  const entries = parsed.value[section]
  if (entries !== undefined && !isJsonObject(entries))
    return fail({ kind: 'shape', member: section })
  const decided = decideEntry(own(entries, name), entry, force)
  if (!decided.ok) return decided
  const { change, edits } = decided.value
  if (change === 'unchanged') return ok({ change, text })

  // Parsed again, not cloned: a clone would lose the date types.
  const expected = (parseToml(text) as { value: Record<string, unknown> }).value
  for (const { path, value } of edits) put(expected, [section, name, ...path], value)
  const after = (isJsonObject(expected[section]) && expected[section][name]) as JsonObject
  const edited =
    change === 'updated' && isAddition(own(entries, name), edits)
      ? addToTable(text, section, name, Object.fromEntries(edits.map(flat)))
      : setTable(text, section, name, after)
  const read = parseToml(edited)
  if (!read.ok || !isDeepStrictEqual(plain(read.value), plain(expected)))
    return fail({ kind: 'unfaithful' })
  return ok({ change, text: edited })
}

/** Own members only: an entry may be named `constructor`. */
function own(entries: JsonObject | undefined, name: string): unknown {
  return entries !== undefined && Object.hasOwn(entries, name) ? entries[name] : undefined
}

/** True when all edits add members to the table itself: no existing line changes. */
function isAddition(found: unknown, edits: readonly EntryEdit[]): boolean {
  return edits.every(
    ({ path: [key, ...below] }) =>
      key !== undefined && below.length === 0 && isJsonObject(found) && found[key] === undefined,
  )
}

function flat({ path, value }: EntryEdit): [string, unknown] {
  return [path[0] ?? '', value]
}

function put(into: Record<string, unknown>, path: string[], value: unknown): void {
  let at = into
  for (const key of path.slice(0, -1)) {
    at[key] ??= {}
    at = at[key] as Record<string, unknown>
  }
  at[path.at(-1) ?? ''] = value
}

/** Gives all objects the same prototype, so that they compare by content. */
function plain<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}n` : inner)),
  )
}
