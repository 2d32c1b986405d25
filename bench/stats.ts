/** The middle value; of an even number of values the mean of the two in the middle; NaN of none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Linear interpolation between the two nearest ranks; `q` from 0 to 1; NaN of no values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const position = (sorted.length - 1) * q
  const below = sorted[Math.floor(position)]
  const above = sorted[Math.ceil(position)]
  if (below === undefined || above === undefined) return Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

/** The same items in the same circle, starting `by` places later. */
export function rotate<T>(items: readonly T[], by: number): T[] {
  if (items.length === 0) return []
  const start = ((by % items.length) + items.length) % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spread(values: readonly number[]): Spread {
  const real = values.filter(Number.isFinite)
  if (real.length === 0) return { median: Number.NaN, min: Number.NaN, max: Number.NaN }
  return { median: median(real), min: Math.min(...real), max: Math.max(...real) }
}

/** One round of one server: figure name → value. */
export type Figures = Readonly<Record<string, number>>

/** Figures by server, one entry a round; undefined where the server failed in that round. */
export type Rounds = Readonly<Record<string, readonly (Figures | undefined)[]>>

/**
 * Ratios of one figure to the reference **of the same round**, so that what slows both down at
 * the same time does not show. `inverse` turns it over, for figures of which less is better.
 */
export function pairedRatio(
  rounds: Rounds,
  server: string,
  reference: string,
  figure: string,
  kind: 'ratio' | 'inverse',
): Spread {
  const base = rounds[reference] ?? []
  const ratios = (rounds[server] ?? []).map((own, round) => {
    const a = own?.[figure]
    const b = base[round]?.[figure]
    if (a === undefined || b === undefined) return Number.NaN
    return kind === 'ratio' ? a / b : b / a
  })
  return spread(ratios)
}

/** The median over the rounds in which the server gave the figure. */
export function medianOf(rounds: Rounds, server: string, figure: string): number {
  const values = (rounds[server] ?? []).map(own => own?.[figure] ?? Number.NaN)
  return spread(values).median
}
