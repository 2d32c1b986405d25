/** Rounds of measurements, and their table. */

/** What one round of one entry gave: figure name → value. */
export type Figures = Readonly<Record<string, number>>

/** One line of a table. */
export interface Entry {
  readonly name: string
  /** What comes before the first round: sessions, warming. */
  readonly prepare?: () => Promise<unknown>
  readonly measure: () => Promise<Figures>
}

export interface Column {
  readonly title: string
  readonly figure: string
  /** `ratio`: the figure over the reference's; `inverse`: the reference's over the figure. */
  readonly show: 'value' | 'ratio' | 'inverse'
}

/** What a row of the benchmark measures. */
export interface Row {
  readonly title: string
  /** The entry whose ratios are 1. */
  readonly reference: string
  readonly columns: readonly Column[]
  readonly entries: readonly Entry[]
  readonly rounds: number
}

/**
 * Measures every entry once a round, each round starting with another one, so that a machine that
 * grows busy does so for all. Returns the title and the table.
 */
export async function measured({
  title,
  reference,
  columns,
  entries,
  rounds,
}: Row): Promise<string> {
  const found = new Map<string, Figures[]>(entries.map(({ name }) => [name, []]))
  for (const { prepare } of entries) await prepare?.()
  for (let round = 0; round < rounds; round++) {
    const start = round % entries.length
    for (const { name, measure } of [...entries.slice(start), ...entries.slice(0, start)]) {
      found.get(name)?.push(await measure())
    }
  }
  const base = found.get(reference) ?? []
  const table = [
    ['', ...columns.map(column => column.title)],
    ...[...found].map(([name, own]) => [name, ...columns.map(each => cell(each, own, base))]),
  ]
  const width = (at: number) => Math.max(...table.map(line => line[at]?.length ?? 0))
  const aligned = (text: string, at: number) =>
    at === 0 ? text.padEnd(width(at)) : text.padStart(width(at))
  return [title, ...table.map(line => line.map(aligned).join('  ')), ''].join('\n')
}

/** Linear interpolation between the two nearest ranks; `q` from 0 to 1; NaN of no values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const position = (sorted.length - 1) * q
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

/** A ratio is one of the same round, so that what slows both down does not show; with its extremes. */
function cell({ figure, show }: Column, own: readonly Figures[], base: readonly Figures[]): string {
  const values = own.map((figures, round) => {
    const value = figures[figure] ?? Number.NaN
    const other = base[round]?.[figure] ?? Number.NaN
    if (show === 'value') return value
    return show === 'ratio' ? value / other : other / value
  })
  const middle = formatNumber(quantile(values, 0.5))
  if (show === 'value' || values.length === 1 || own === base) return middle
  return `${middle} (${formatNumber(Math.min(...values))}-${formatNumber(Math.max(...values))})`
}

/** Three significant digits, whole from 100 on, thousands set apart. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-GB')
  return String(Number(value.toPrecision(3)))
}
