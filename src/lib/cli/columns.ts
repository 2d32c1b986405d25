import { cleanText } from '../clean-text.ts'

/** Rows below their names, in columns as wide as they must be; safe on a terminal. */
export function columns(names: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [names, ...rows.map(row => row.map(cell => cleanText(cell) || '-'))]
  const widths = names.map((_, at) => Math.max(...cells.map(row => row[at]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  return cells.map(line).join('\n')
}

/** `1 account`, `2 accounts`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
