import type { InstanceDirectory, InstanceEntry } from './instance-directory.ts'

/** Two directories as one; the same id is the instance of the first of them. Closes both. */
export function mergeDirectories(
  first: InstanceDirectory,
  second: InstanceDirectory,
): InstanceDirectory {
  let merged: readonly InstanceEntry[] = []
  let of: readonly (readonly InstanceEntry[])[] = []
  return {
    get entries() {
      const now = [first.entries, second.entries]
      if (now[0] === of[0] && now[1] === of[1]) return merged
      of = now
      const ids = new Set(first.entries.map(({ record }) => record.instanceId))
      const others = second.entries.filter(({ record }) => !ids.has(record.instanceId))
      const started = ({ record }: InstanceEntry) => record.startedMs
      merged = Object.freeze([...first.entries, ...others].sort((a, b) => started(a) - started(b)))
      return merged
    },
    get faults() {
      return first.faults
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
