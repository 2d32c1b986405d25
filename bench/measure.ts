/** Rounds of measurements, and their table. */

/** What one round of one server gave: figure name → value. */
export type Figures = Readonly<Record<string, number>>

/** One line of a table. */
export interface Entry {
  readonly name: string
  /** What comes before the first round: sessions, stored bytes, warming. */
  readonly prepare?: () => Promise<unknown>
  readonly measure: () => Promise<Figures>
}

export interface Column {
  readonly title: string
  readonly figure: string
  /** `ratio`: the figure over the reference's; `inverse`: the reference's over the figure. */
  readonly show: 'value' | 'ratio' | 'inverse'
}

export interface Table {
  readonly title: string
  /** The entry whose ratios are 1. */
  readonly reference: string
  readonly columns: readonly Column[]
  /** By entry, one for each round. */
  readonly rounds: ReadonlyMap<string, readonly Figures[]>
  readonly notes?: readonly string[]
}

/**
 * Measures every entry once a round, each round starting with another one, so that a machine that
 * grows busy does so for all. Rejects when an entry fails.
 */
export async function compare(
  entries: readonly Entry[],
  count: number,
): Promise<Map<string, Figures[]>> {
  const rounds = new Map<string, Figures[]>(entries.map(({ name }) => [name, []]))
  for (const { prepare } of entries) await prepare?.()
  for (let round = 0; round < count; round++) {
    const start = round % entries.length
    for (const { name, measure } of [...entries.slice(start), ...entries.slice(0, start)]) {
      rounds.get(name)?.push(await measure())
    }
  }
  return rounds
}

/** Linear interpolation between the two nearest ranks; `q` from 0 to 1; NaN of no values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const position = (sorted.length - 1) * q
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

export function printed(
  name: string,
  { title, reference, columns, rounds, notes = [] }: Table,
): string {
  const base = rounds.get(reference) ?? []
  const lines = [...rounds].map(([entry, own]) => [
    entry,
    ...columns.map(column => cell(column, own, base)),
  ])
  const cells = [['', ...columns.map(column => column.title)], ...lines]
  const widths = columns.map((_, at) => Math.max(...cells.map(row => row[at + 1]?.length ?? 0)))
  const first = Math.max(...cells.map(row => row[0]?.length ?? 0))
  const text = cells.map(([entry = '', ...rest]) =>
    [entry.padEnd(first), ...rest.map((each, at) => each.padStart(widths[at] ?? 0))].join('  '),
  )
  return [`== ${name}: ${title}`, ...text, ...notes.map(note => `  ${note}`), ''].join('\n')
}

/** A ratio is one of the same round, so that what slows both down does not show; with its extremes. */
function cell({ figure, show }: Column, own: readonly Figures[], base: readonly Figures[]): string {
  const values = own.map((figures, round) => {
    const value = figures[figure] ?? Number.NaN
    const other = base[round]?.[figure] ?? Number.NaN
    if (show === 'value') return value
    return show === 'ratio' ? value / other : other / value
  })
  const middle = quantile(values, 0.5)
  if (Number.isNaN(middle)) return '-'
  if (show === 'value' || values.length === 1 || own === base) return formatNumber(middle)
  return `${formatNumber(middle)} (${formatNumber(Math.min(...values))}-${formatNumber(Math.max(...values))})`
}

/** Three significant digits, whole from 100 on, thousands set apart. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-GB')
  return String(Number(value.toPrecision(3)))
}
