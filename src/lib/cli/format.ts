import stringWidth from 'fast-string-width'
import { cleanText } from '../util/text.ts'
import { terminalWidth } from './output.ts'

const gap = '  '

/**
 * A table with column names, safe on a terminal. One that is wider than `width` loses the columns of
 * `drop`, in this order, until the rest fits; cells are never cut, so that they can be copied.
 */
export function columns(
  names: string[],
  rows: string[][],
  {
    drop = [],
    width = terminalWidth(process.stdout),
  }: { drop?: readonly string[]; width?: number } = {},
): string {
  const cells = [names, ...rows.map(row => row.map(cell => cleanText(cell) || '-'))]
  const widths = names.map((_, at) => Math.max(...cells.map(row => stringWidth(row[at] ?? ''))))
  let shown = names.map((_, at) => at)
  const total = (): number =>
    shown.reduce((sum, at) => sum + (widths[at] ?? 0), gap.length * (shown.length - 1))
  for (const name of drop) {
    if (total() <= width) break
    shown = shown.filter(at => names[at] !== name)
  }
  const line = (row: string[]): string =>
    shown
      .map(at => padded(row[at] ?? '', widths[at] ?? 0))
      .join(gap)
      .trimEnd()
  return cells.map(line).join('\n')
}

function padded(cell: string, width: number): string {
  return cell + ' '.repeat(width - stringWidth(cell))
}

/**
 * Wraps at spaces to `width` columns. Prefixes the first line with `first`, others with `later`.
 */
export function wrapWords(text: string, width: number, first = '', later = ''): string[] {
  const [start = '', ...words] = text.split(' ')
  const lines = [first + start]
  for (const word of words) {
    const longer = `${lines.at(-1) ?? ''} ${word}`
    if (stringWidth(longer) <= width) lines[lines.length - 1] = longer
    else lines.push(later + word)
  }
  return lines
}

/** Quotes a word for a shell of the platform where necessary. */
export function quoteArgument(word: string, platform: NodeJS.Platform): string {
  if (platform === 'win32') return /^[\w.:\\/-]+$/.test(word) ? word : `"${word}"`
  return /^[\w.,:=@%/+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
