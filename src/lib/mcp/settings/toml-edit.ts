import { TomlError, parse, stringify } from 'smol-toml'
import { type JsonObject, isJsonObject } from '../../util/json.ts'
import type { JsonFault } from '../json-fault.ts'
import { type Result, fail, ok } from '../../util/result.ts'

/** Parses TOML. Drops the message of the parser: it quotes the line, which may contain a key. */
export function parseToml(text: string): Result<JsonObject, JsonFault> {
  try {
    // Settings of other programs may contain integers beyond 2^53.
    return ok(parse(text, { unsafeKeyBehaviour: 'throw', integersAsBigInt: 'asNeeded' }))
  } catch (error) {
    const { line, column } = error instanceof TomlError ? error : { line: 1, column: 1 }
    return fail({ what: 'is not valid TOML', line, column })
  }
}

/**
 * Replaces the table `[section.name]`, or appends it. Keeps everything else. The caller must check
 * the result: TOML has more forms of a table than this function recognises.
 */
export function setTable(text: string, section: string, name: string, value: JsonObject): string {
  const newline = /\r?\n/.exec(text)?.[0] ?? '\n'
  const table = renderTable(section, name, value).replaceAll('\n', newline)
  const { kept, at } = withoutTable(text, section, name)
  if (at !== null) return kept.slice(0, at) + table + kept.slice(at)
  if (kept.trim() === '') return `${kept}${table}`
  const gap = kept.endsWith('\n') ? newline : newline + newline
  return `${kept}${gap}${table}`
}

/** Adds members below the line `[section.name]`; returns the text unchanged without that line. */
export function addToTable(
  text: string,
  section: string,
  name: string,
  members: JsonObject,
): string {
  let done = false
  return text
    .split(/(?<=\n)/)
    .map(line => {
      const header = done ? null : headerOf(line)
      if (header === null || header.length !== 2) return line
      if (header[0] !== section || header[1] !== name) return line
      done = true
      const newline = line.endsWith('\r\n') ? '\r\n' : '\n'
      const added = stringify(members).trim().replaceAll('\n', newline)
      return `${line.trimEnd()}${newline}${added}${newline}`
    })
    .join('')
}

/** Renders the table with a trailing newline. */
export function renderTable(section: string, name: string, value: JsonObject): string {
  const text = stringify({ [section]: { [name]: value } })
  // The parent table is empty and needs no header.
  return `${text.replace(`[${section}]\n`, '').trim()}\n`
}

/** Removes the table and its sub-tables; `at` is its former position. */
function withoutTable(
  text: string,
  section: string,
  name: string,
): { kept: string; at: number | null } {
  const lines = text.split(/(?<=\n)/)
  let kept = ''
  let at: number | null = null
  let cutting = false
  let trivia = ''
  for (const line of lines) {
    const header = headerOf(line)
    if (header !== null) {
      cutting = header[0] === section && header[1] === name
      if (cutting) at ??= kept.length + trivia.length
      kept += trivia
      trivia = ''
    }
    if (!cutting) kept += line
    // Spaces and comments after the table belong to the next one.
    else if (/^\s*(#.*)?$/.test(line.trimEnd())) trivia += line
    else trivia = ''
  }
  return { kept: kept + trivia, at }
}

/** The path of a `[table]` line, or null for any other line. */
function headerOf(line: string): readonly string[] | null {
  if (!/^\s*\[[^[]/.test(line)) return null
  const parsed = parseToml(line)
  if (!parsed.ok) return null
  const path: string[] = []
  let value: unknown = parsed.value
  while (isJsonObject(value)) {
    const [key] = Object.keys(value)
    if (key === undefined) break
    path.push(key)
    value = value[key]
  }
  return path
}
