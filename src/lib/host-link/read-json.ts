import { jsonFault } from '../util/json-fault.ts'
import { parseExact } from '../util/exact-json.ts'
import {
  arrayOf,
  endOfString,
  isJsonObject,
  type JsonObject,
  maxJsonDepth,
  parseJson,
  wellFormedJson,
} from '../util/json.ts'

/** What of a scene had to be replaced. A member of the scene's `warnings`. */
export interface SceneWarning {
  readonly code: 'number_not_finite' | 'text_not_unicode'
  readonly count?: number
}

/**
 * Reads JSON of an application. `NaN`, infinities and numbers out of range become null, halves of
 * surrogate pairs (Python writes them for names that are not UTF-8) become U+FFFD: `text` and
 * `value` are without them. Throws a `TypeError` that says what is wrong with any other text.
 */
export function readJson(given: string, maxDepth = maxJsonDepth) {
  const text = wellFormedJson(given)
  const warnings: SceneWarning[] = text === given ? [] : [{ code: 'text_not_unicode' }]
  const json = parseJson(text, maxDepth)
  if (json.ok && !hugeNumber.test(text)) return { text, value: json.value, warnings }
  if (!json.ok && json.failure === 'depth') {
    throw new TypeError(`is nested deeper than ${maxDepth} levels`)
  }
  const finite = nullNonFinite(text)
  const repaired = finite.count === 0 ? json : parseJson(finite.text, maxDepth)
  if (!repaired.ok) throw new TypeError(`is not valid JSON: ${jsonFault(text)}`)
  if (finite.count > 0) warnings.push({ code: 'number_not_finite', count: finite.count })
  return { text: finite.text, value: repaired.value, warnings }
}

/** The text of a scene with what was replaced in it among its `warnings`. */
export function withWarnings(scene: string, warnings: readonly SceneWarning[]): string {
  if (warnings.length === 0 || !scene.trimStart().startsWith('{')) return scene
  if (JSON.parse(scene).warnings !== undefined) {
    const exact = parseExact(scene) as JsonObject
    return JSON.stringify({ ...exact, warnings: mergedWarnings(exact.warnings, warnings) })
  }
  const body = scene.trim().slice(1, -1).trim()
  return `{${body}${body === '' ? '' : ','}"warnings":${JSON.stringify(warnings)}}`
}

/** Each takes the place of a known one with its code. */
export function mergedWarnings(known: unknown, warnings: readonly SceneWarning[]): unknown[] {
  const codes: readonly unknown[] = warnings.map(({ code }) => code)
  const others = arrayOf(known).filter(each => !isJsonObject(each) || !codes.includes(each.code))
  return [...others, ...warnings]
}

/** Of the numbers of the value that `JSON.stringify` writes as null. */
export function warningsOf(value: unknown): SceneWarning[] {
  let count = 0
  JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === 'number' && !Number.isFinite(each)) count++
    return each
  })
  return count === 0 ? [] : [{ code: 'number_not_finite', count }]
}

/** What every number beyond the range of JavaScript has; other texts may have it, too. */
const hugeNumber = /[eE]\+?\d{3}|\d{200}/
const suspects = /-?(?:NaN|Infinity)\b|-?\d+(?:\.\d+)?(?:[eE]\+?\d+)?/g

function nullNonFinite(text: string): { text: string; count: number } {
  const pieces: string[] = []
  let count = 0
  const finite = (number: string) => {
    if (Number.isFinite(Number(number))) return number
    count++
    return 'null'
  }
  for (let from = 0; from < text.length;) {
    const quote = text.indexOf('"', from)
    const end = quote === -1 ? text.length : quote
    const next = quote === -1 ? text.length : endOfString(text, quote + 1) + 1
    pieces.push(text.slice(from, end).replace(suspects, finite), text.slice(end, next))
    from = next
  }
  return { text: pieces.join(''), count }
}
