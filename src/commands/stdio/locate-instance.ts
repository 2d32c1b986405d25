import { ownerFile } from '../../lib/instances/files.ts'
import { findNextRun, localUrlOf } from '../../lib/instances/live-instances.ts'
import type { InstanceRecord } from '../../lib/instances/record.ts'
import { selectInstances } from '../../lib/instances/select-instance.ts'
import { fail, ok } from '../../lib/util/result.ts'
import type { Locate } from '../../lib/mcp/bridge/context.ts'

/**
 * Locates the chosen instance, and after a loss its next run. Unless the user named that instance
 * by id, another instance that matches `word` also counts. `instancesDir` has the owner's tokens.
 */
export function locateInstance(
  first: InstanceRecord,
  word: string | undefined,
  instancesDir: string,
  live: () => Promise<InstanceRecord[]>,
): Locate {
  const particular = word !== undefined && word !== first.dcc_type
  let current = first
  let lostMs: number | null = null
  return async () => {
    const instances = await live()
    const missedMs = lostMs ?? Date.now()
    const [chosen, ...others] = selectInstances(instances, word)
    const other = !particular && others.length === 0 ? chosen : null
    const next = findNextRun(instances, current, missedMs) ?? other ?? null
    lostMs = next === null ? missedMs : null
    if (next === null) {
      return fail(`the instance ${current.display_name} does not run or does not answer`)
    }
    current = next
    return ok({ url: localUrlOf(next), ownerFile: ownerFile(instancesDir, next.instance_id) })
  }
}
