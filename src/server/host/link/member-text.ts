import { endOfString } from '../../../lib/util/json.ts'

/**
 * The text of one member of a JSON object, exactly as it was written: numbers keep their digits
 * and members their order, which parsing and writing again does not promise. The text must be
 * valid JSON of an object, as `JSON.parse` has just found. Of members with the same name the last
 * one counts, as it does when parsing. Undefined when there is none.
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined
  let at = json.indexOf('{') + 1
  for (;;) {
    at = skipSpace(json, at)
    if (json[at] === ',') at = skipSpace(json, at + 1)
    if (json[at] !== '"') return found
    const keyEnd = endOfString(json, at + 1) + 1
    const key: unknown = JSON.parse(json.slice(at, keyEnd))
    const start = skipSpace(json, skipSpace(json, keyEnd) + 1)
    at = endOfValue(json, start)
    if (key === name) found = json.slice(start, at)
  }
}

function skipSpace(json: string, from: number): number {
  let at = from
  while (at < json.length && ' \t\r\n'.includes(json.charAt(at))) at++
  return at
}

function endOfValue(json: string, from: number): number {
  let depth = 0
  for (let at = from; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case 0x22:
        at = endOfString(json, at + 1)
        if (depth === 0) return at + 1
        break
      case 0x5b:
      case 0x7b:
        depth++
        break
      case 0x5d:
      case 0x7d:
        if (depth === 0) return at
        if (--depth === 0) return at + 1
        break
      case 0x2c:
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        if (depth === 0) return at
        break
    }
  }
  return json.length
}
