import type { Instance } from './instance.ts'

export interface NextRunFacts {
  /** The instance that was connected to, as it was last known. */
  readonly previous: Instance
  /** When it was missed first. */
  readonly lostMs: number
}

/** Started so long before its predecessor was missed, it can still be its next run. */
const overlapMs = 10_000

/**
 * The same instance, or its next run: every run has an id of its own, so it goes by what it is and
 * when it began. Null as long as there is none, or it is unclear which it is.
 */
export function findNextRun(
  instances: readonly Instance[],
  { previous, lostMs }: NextRunFacts,
): Instance | null {
  const same = instances.find(({ id }) => id === previous.id)
  if (same !== undefined) return same
  // What had no kind yet when it was looked at may have got one since.
  const next = instances.filter(
    ({ dccType, startedMs, hostname }) =>
      hostname === previous.hostname &&
      startedMs >= lostMs - overlapMs &&
      (dccType === previous.dccType || previous.dccType === 'unknown'),
  )
  return only(next) ?? only(next.filter(one => one.displayName === previous.displayName))
}

function only(instances: readonly Instance[]): Instance | null {
  return instances.length === 1 ? (instances[0] ?? null) : null
}
