const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g
/**
 * Controls, the marks that turn the direction of what follows, and characters that nobody sees
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

/** Text of another machine with its lines and tabs, safe on a terminal. */
export function cleanLines(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n/g, '\n')
    .replace(escapes, '')
    .replace(hidden, found => found.replace(/[^\n\t]+/g, ''))
}
