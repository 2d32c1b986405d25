import type { Instance } from '../../lib/instances/instance.ts'
import { findNextRun } from '../../lib/instances/live-instances.ts'
import { selectInstance } from '../../lib/instances/select-instance.ts'
import { fail, ok } from '../../lib/util/result.ts'
import type { Locate, Target } from '../../lib/mcp/bridge/context.ts'

interface LocateInstanceParts {
  readonly first: Instance
  /** The word of the user, or nothing. */
  readonly word: string | undefined
  readonly live: () => Promise<Instance[]>
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * The instance, and where it or its next run is by the time somebody asks again. One that was named
 * among others has no other successor; else it is whatever the words of the user mean by then.
 */
export function locateInstance({ first, word, live, now }: LocateInstanceParts): Locate {
  const particular = word !== undefined && word !== first.dccType
  let current = first
  let asked = false
  let lostMs: number | null = null
  return async () => {
    if (!asked) {
      asked = true
      return ok(targetOf(current))
    }
    lostMs ??= now()
    const instances = await live()
    const chosen = selectInstance(instances, word)
    const other = !particular && chosen.kind === 'one' ? chosen.instance : null
    const found = findNextRun(instances, { previous: current, lostMs }) ?? other
    if (found === null) return fail(`the instance ${current.displayName} is not running`)
    current = found
    lostMs = null
    return ok(targetOf(found))
  }
}

export function targetOf(instance: Instance): Target {
  return { url: new URL(instance.url), name: instance.displayName, pid: instance.pid }
}
