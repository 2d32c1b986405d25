import { medianOf, pairedRatio, type Rounds } from './stats.ts'

export interface Column {
  readonly title: string
  readonly figure: string
  /** `ratio`: the figure over the reference's; `inverse`: the reference's over the figure. */
  readonly show: 'value' | 'ratio' | 'inverse'
}

/** What one row of the benchmark measured. */
export interface Measured {
  readonly name: string
  readonly title: string
  /** The server whose figures are 1. */
  readonly reference: string
  readonly columns: readonly Column[]
  readonly rounds: Rounds
  /** What the figures mean, what was not equal, what failed. */
  readonly notes: readonly string[]
}

/** Head row first; a ratio carries its lowest and highest round. */
export function cellsOf(measured: Measured): string[][] {
  const { columns, rounds, reference } = measured
  const body = Object.keys(rounds).map(server => [
    server,
    ...columns.map(({ figure, show }) => {
      if (show === 'value') return formatNumber(medianOf(rounds, server, figure))
      const ratio = pairedRatio(rounds, server, reference, figure, show)
      if (!Number.isFinite(ratio.median)) return '-'
      if (server === reference) return '1'
      const one = ratio.min === ratio.max
      return (
        formatRatio(ratio.median) +
        (one ? '' : ` (${formatRatio(ratio.min)}-${formatRatio(ratio.max)})`)
      )
    }),
  ])
  return [['server', ...columns.map(column => column.title)], ...body]
}

export function renderText(measured: Measured): string {
  const cells = cellsOf(measured)
  const widths = (cells[0] ?? []).map((_, i) => Math.max(...cells.map(row => row[i]?.length ?? 0)))
  const lines = cells.map(row =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  '),
  )
  const notes = measured.notes.map(note => `  ${note}`)
  return [`== ${measured.name}: ${measured.title}`, ...lines, ...notes, ''].join('\n')
}

export function renderMarkdown(measured: Measured): string {
  const [head = [], ...body] = cellsOf(measured)
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = line(head.map((_, i) => (i === 0 ? '---' : '---:')))
  const notes = measured.notes.map(note => `- ${note}`)
  return [`### ${measured.title}`, '', line(head), rule, ...body.map(line), '', ...notes, ''].join(
    '\n',
  )
}

export function formatRatio(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** Three significant digits, whole from 100 on, thousands set apart. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-GB')
  return String(Number(value.toPrecision(3)))
}
