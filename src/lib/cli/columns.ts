import stringWidth from 'string-width'
import { cleanText } from '../util/clean-text.ts'
import { terminalWidth } from './terminal.ts'

interface ColumnsOptions {
  /** Names of columns that are left out, the first one first, until the rest fits. */
  readonly drop?: readonly string[]
  /** Columns of the terminal. Default: those of stdout; unlimited where that is no terminal. */
  readonly width?: number
}

const gap = '  '

/**
 * Rows below their names, safe on a terminal. A table that is too wide loses whole columns; what
 * remains is never cut, so that it can be copied.
 */
export function columns(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  { drop = [], width = terminalWidth(process.stdout) }: ColumnsOptions = {},
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
  const line = (row: readonly string[]): string =>
    shown
      .map(at => padded(row[at] ?? '', widths[at] ?? 0))
      .join(gap)
      .trimEnd()
  return cells.map(line).join('\n')
}

function padded(cell: string, width: number): string {
  return cell + ' '.repeat(width - stringWidth(cell))
}

/** Lines of at most `width` columns where the words allow it, behind these beginnings of lines. */
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

/** `1 account`, `2 accounts`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
