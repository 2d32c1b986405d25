import type { Instance } from './instance.ts'
import { selectInstance } from './select-instance.ts'

export interface SuccessorFacts {
  /** The instance that was connected to, as it was last known. */
  readonly previous: Instance
  /** What the user had named: a kind, or nothing. Undefined also for an id, which is gone. */
  readonly word: string | undefined
  /** The user named this one instance among others: none but its own next run will do. */
  readonly particular: boolean
  /** When it was missed first. */
  readonly lostMs: number
}

/** Started so long before its predecessor was missed, it can still be its next run. */
const overlapMs = 10_000

/**
 * Where to go on when a server went away: the same instance, or its next run (every run has a new
 * id), or whatever the words of the user name by now. Null as long as that is nothing or unclear.
 */
export function findSuccessor(
  instances: readonly Instance[],
  { previous, word, particular, lostMs }: SuccessorFacts,
): Instance | null {
  const same = instances.find(({ id }) => id === previous.id)
  if (same !== undefined) return same
  // What had no kind yet when it was looked at may have got one since.
  const nextRuns = instances.filter(
    ({ dccType, startedMs }) =>
      startedMs >= lostMs - overlapMs &&
      (dccType === previous.dccType || previous.dccType === 'unknown'),
  )
  const [first] = nextRuns
  if (first !== undefined && nextRuns.length === 1) return first
  const [named, further] = nextRuns.filter(
    ({ displayName }) => displayName === previous.displayName,
  )
  if (named !== undefined && further === undefined) return named
  if (particular) return null
  const chosen = selectInstance(instances, word)
  return chosen.kind === 'one' ? chosen.instance : null
}
