import { TomlError, parse, stringify } from 'smol-toml'
import { type JsonObject, isJsonObject } from '../../util/json.ts'
import { type Result, fail, ok } from '../../util/result.ts'
import type { JsonFault } from './json-text.ts'

/** Never the message of the parser: it quotes the line, which may hold a key. */
export function parseToml(text: string): Result<JsonObject, JsonFault> {
  try {
    // An integer beyond 2^53 is as good as any in somebody else's settings.
    return ok(parse(text, { unsafeKeyBehaviour: 'throw', integersAsBigInt: 'asNeeded' }))
  } catch (error) {
    const { line, column } = error instanceof TomlError ? error : { line: 1, column: 1 }
    return fail({ what: 'is no TOML', line, column })
  }
}

/**
 * The text with the table `[section.name]` at its end, or in the place of the one that was there.
 * Everything else stays as it is. Whether it means what it should is for the caller to check: a
 * table can be written in more ways than are looked for here.
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

/** The text with more members directly below the line `[section.name]`; as it is without one. */
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

/** Ends with a line break. */
export function renderTable(section: string, name: string, value: JsonObject): string {
  const text = stringify({ [section]: { [name]: value } })
  // Of the parent, which has nothing of its own, no header is needed.
  return `${text.replace(`[${section}]\n`, '').trim()}\n`
}

/** Cuts the table and those below it; `at` is where it began. */
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
    // Space and comments behind the table belong to what follows it.
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
