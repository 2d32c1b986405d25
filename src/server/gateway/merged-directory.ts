import type { InstanceDirectory, InstanceEntry, RecordFault } from './instance-directory.ts'

/** Two directories as one; the same id is the instance of the first of them. Closes both. */
export function mergeDirectories(
  first: InstanceDirectory,
  second: InstanceDirectory,
): InstanceDirectory {
  const entries = merged((mine: readonly InstanceEntry[], others: readonly InstanceEntry[]) => {
    const ids = new Set(mine.map(({ record }) => record.instanceId))
    const more = others.filter(({ record }) => !ids.has(record.instanceId))
    const started = ({ record }: InstanceEntry) => record.startedMs
    return [...mine, ...more].sort((a, b) => started(a) - started(b))
  })
  const faults = merged((mine: readonly RecordFault[], others) => [...mine, ...others])
  return {
    get entries() {
      return entries(first.entries, second.entries)
    },
    get faults() {
      return faults(first.faults, second.faults)
    },
    onChange(listener) {
      const stops = [first.onChange(listener), second.onChange(listener)]
      return () => stops.forEach(stop => stop())
    },
    async refresh() {
      await Promise.all([first.refresh(), second.refresh()])
    },
    async close() {
      await Promise.all([first.close(), second.close()])
    },
  }
}

/** The identical array, as long as both are. */
function merged<One>(merge: (first: readonly One[], second: readonly One[]) => One[]) {
  let of: readonly (readonly One[])[] = []
  let known: readonly One[] = []
  return (first: readonly One[], second: readonly One[]): readonly One[] => {
    if (first === of[0] && second === of[1]) return known
    of = [first, second]
    return (known = Object.freeze(merge(first, second)))
  }
}
