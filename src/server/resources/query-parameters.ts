import { parseExact } from '../../lib/util/exact-json.ts'
import { asText } from '../../lib/util/text.ts'
import { ResourceUriInvalid } from './errors.ts'
import type { ResourceUri } from './resource-uri.ts'

// Each throws `ResourceUriInvalid` for a value out of its form.

/** An integer, clamped to 1…`max`; `fallback` when absent. */
export function limitParameter(uri: ResourceUri, fallback: number, max: number): number {
  const text = uri.query.get('limit')
  if (text === undefined) return fallback
  if (!/^-?\d+$/.test(text)) throw invalid('limit', `an integer from 1 to ${max}`)
  return Math.min(Math.max(Number(text), 1), max)
}

/** An integer of the range. Undefined when absent. */
export function integerParameter(
  uri: ResourceUri,
  name: string,
  least = 0,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const text = uri.query.get(name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  const isCount = most === Number.MAX_SAFE_INTEGER
  throw invalid(name, isCount ? 'a non-negative integer' : `an integer from ${least} to ${most}`)
}

/** `true` or `1`, `false` or `0`; the name alone switches on. Undefined when absent. */
export function switchParameter(uri: ResourceUri, name: string): boolean | undefined {
  const text = uri.query.get(name)?.toLowerCase()
  if (text === undefined) return undefined
  if (!['', 'true', '1', 'false', '0'].includes(text)) throw invalid(name, 'true or false')
  return text !== 'false' && text !== '0'
}

/** One of the words, in lower case. Undefined when absent or empty. */
export function wordParameter<Word extends string>(
  uri: ResourceUri,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = uri.query.get(name)?.toLowerCase() ?? ''
  if (text === '') return undefined
  const word = words.find(each => each === text)
  if (word === undefined) throw invalid(name, `one of ${words.join(', ')}`)
  return word
}

/** Any text; undefined when absent or blank. */
export function textParameter(uri: ResourceUri, name: string): string | undefined {
  return uri.query.get(name)?.trim() || undefined
}

/** Throws `ResourceUriInvalid` for a parameter that is not known. */
export function onlyParameters(uri: ResourceUri, known: readonly string[]): void {
  const isUnknown = Array.from(uri.query.keys()).some(name => !known.includes(name))
  if (!isUnknown) return
  const names = known.length === 0 ? 'it has none' : `known: ${known.join(', ')}`
  throw new ResourceUriInvalid(`unknown query parameter of ${uri.scheme}://${uri.path}; ${names}`)
}

/** Values separated by commas; as a JSON array when one of them has a comma. */
export function listParameter(uri: ResourceUri, name: string): readonly string[] | undefined {
  const text = uri.query.get(name)
  if (text === undefined) return undefined
  if (!text.startsWith('[')) return text.split(',').map(each => each.trim())
  try {
    const values = parseExact(text)
    if (Array.isArray(values)) return values.map(asText)
  } catch {
    // The same answer as for JSON that is no array.
  }
  throw invalid(name, 'values separated by commas')
}

function invalid(name: string, expected: string): ResourceUriInvalid {
  return new ResourceUriInvalid(`query parameter "${name}" must be ${expected}`)
}
