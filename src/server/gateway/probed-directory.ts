import type { GatewayLimits } from './limits.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { DirectoryNews, DirectoryView, nothing } from './directory-view.ts'
import type { InstanceChange, InstanceDirectory, InstanceEntry } from './instance-directory.ts'
import type { Probes } from './probes.ts'
import { judgeProbe } from './verdict.ts'

interface ProbedDirectoryOptions {
  readonly directory: InstanceDirectory
  readonly probes: Probes
  readonly limits: Pick<GatewayLimits, 'maxProbeFailures'>
  readonly log: Logger
}

/**
 * The same instances, with the results of probes in their verdicts. `refresh` reads the directory
 * and sends no probe. Closes both.
 */
export function createProbedDirectory(options: ProbedDirectoryOptions): InstanceDirectory {
  const { directory, probes, limits } = options
  const view = new DirectoryView(Infinity)
  const news = new DirectoryNews(options.log)
  /** As the directory below has them. */
  const known = new Map<string, InstanceEntry>()

  function take(id: string): InstanceChange[] {
    const entry = known.get(id)
    return view.take(id, entry === undefined ? nothing : { entry: judge(id, entry), fault: null })
  }

  /** The one that was told last, if there is nothing new to say. */
  function judge(id: string, entry: InstanceEntry): InstanceEntry {
    const { verdict } = entry
    const judgement = judgeProbe(verdict, entry.record, probes.of(id), limits)
    if (judgement === verdict) return entry
    const told = view.entryOf(id)
    if (told?.record === entry.record && told.verdict.reason === judgement.reason) return told
    const folded = {
      ...judgement,
      get heartbeatAgeMs() {
        return verdict.heartbeatAgeMs
      },
      get heartbeatMs() {
        return verdict.heartbeatMs
      },
    }
    return Object.freeze({ record: entry.record, verdict: Object.freeze(folded) })
  }

  function follow(change: InstanceChange): InstanceChange[] {
    if (change.kind === 'fault' || change.kind === 'mended') return [change]
    const id = change.entry.record.instanceId
    if (change.kind === 'gone') known.delete(id)
    else known.set(id, change.entry)
    return take(id)
  }

  for (const entry of directory.entries) follow({ kind: 'appeared', entry })
  const unfollow = directory.onChange(changes => news.tell(changes.flatMap(follow)))
  const unlisten = probes.onResult(id => news.tell(take(id)))

  return {
    get entries() {
      return view.entries
    },
    get faults() {
      return directory.faults
    },
    onChange: listener => news.add(listener),
    refresh: () => directory.refresh(),
    async close() {
      unfollow()
      unlisten()
      news.clear()
      await probes.close()
      await directory.close()
    },
  }
}
