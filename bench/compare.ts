import type { Bench } from './bench.ts'
import { rotate, type Figures } from './stats.ts'
import type { Target, TargetName } from './targets.ts'

/** One line of a table: a server, or one way of using it. */
export interface Entry {
  readonly name: string
  /** What comes before the first round: sessions, stored bytes, a check of the answer, warming. */
  readonly prepare?: (notes: string[]) => Promise<void>
  readonly measure: (round: number) => Promise<Figures>
}

export interface Compared {
  readonly rounds: Record<string, (Figures | undefined)[]>
  readonly notes: string[]
}

/**
 * Measures every entry once a round, each round starting with another one, so that a machine
 * that grows busy does so for all. An entry that fails is left out from then on and named.
 */
export async function compare(entries: readonly Entry[], count: number): Promise<Compared> {
  const rounds: Compared['rounds'] = Object.fromEntries(entries.map(({ name }) => [name, []]))
  const notes: string[] = []
  const failed = new Set<Entry>()
  const attempt = async (entry: Entry, work: () => Promise<void> | undefined) => {
    if (failed.has(entry)) return
    try {
      await work()
    } catch (error) {
      failed.add(entry)
      notes.push(`${entry.name}: ${(error as Error).message}`)
    }
  }
  for (const entry of entries) await attempt(entry, () => entry.prepare?.(notes))
  for (let round = 0; round < count; round++) {
    for (const entry of rotate(entries, round)) {
      await attempt(entry, async () => {
        const figures = await entry.measure(round)
        const own = rounds[entry.name]
        if (own !== undefined) own[round] = figures
      })
    }
  }
  return { rounds, notes }
}

/** Runs `work` and adds the CPU time the server took for it. */
export async function withServerCpu<T extends object>(
  target: Pick<Target, 'cpuMs'>,
  work: () => Promise<T>,
): Promise<T & { serverCpuMs: number }> {
  const before = await target.cpuMs()
  const result = await work()
  return { ...result, serverCpuMs: (await target.cpuMs()) - before }
}

/** Starts the wanted servers; one that does not start is a note, not the end. */
export async function startAll(
  bench: Bench,
  names: readonly TargetName[],
  notes: string[],
  options: Parameters<Bench['start']>[1] = {},
): Promise<Target[]> {
  const targets: Target[] = []
  for (const name of names) {
    try {
      targets.push(await bench.start(name, options))
    } catch (error) {
      notes.push((error as Error).message)
    }
  }
  return targets
}
