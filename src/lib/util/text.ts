const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g
/**
 * Controls, the marks that turn the direction of what follows, and characters that are invisible
 * and a language model reads all the same. The joiners of scripts and emoji (U+200C, U+200D) stay.
 */
const hidden =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]+/gu

/** Text of another machine as one line that is safe on a terminal, at most `most` characters. */
export function cleanText(text: string, most = 500): string {
  const plain = text
    .slice(0, most * 4)
    .toWellFormed()
    .replace(escapes, '')
    .replace(hidden, ' ')
  const line = plain.replace(/ {2,}/g, ' ').trim()
  if (line.length <= most) return line
  return `${line
    .slice(0, most - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`
}

/** A text as it is, another value as JSON: `String` throws for `{"toString":0,"valueOf":0}`. */
export function asText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The text with all of that written as in JSON: `\u001b`. */
export function printable(text: string): string {
  return text.replace(hidden, found =>
    found.replace(/[^]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** One line of JSON that is safe on a terminal and parses to the same value. */
export function jsonLine(value: object): string {
  return `${printable(JSON.stringify(value))}\n`
}

/** Text of another machine with its lines and tabs, safe on a terminal. */
export function cleanLines(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n/g, '\n')
    .replace(escapes, '')
    .replace(hidden, found => found.replace(/[^\n\t]+/g, ''))
}

/** The known word closest to a mistyped one; undefined when none is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const wanted = word.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

/** The number of letters to add, remove or replace (Levenshtein). */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let line = 0; line < left.length; line++) {
    const next = [line + 1]
    for (let column = 0; column < right.length; column++) {
      const replaced = row[column]! + (left[line] === right[column] ? 0 : 1)
      next.push(Math.min(replaced, row[column + 1]! + 1, next[column]! + 1))
    }
    row = next
  }
  return row[right.length]!
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** True for any UUID in lower case. */
export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuid.test(value)
}
