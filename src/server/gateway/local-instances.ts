import { resolveGatewayLimits } from './limits.ts'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { monotonicClock, systemClock, systemTimer } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { openFsDirectory } from './fs-directory.ts'
import type { InstanceChange, InstanceEntry, RecordFault } from './instance-directory.ts'
import { type InstanceAnswer, queryInstances } from './instance-query.ts'
import { instanceRow, type InstanceRow, type RowStatus, maxInstanceRows } from './instance-rows.ts'

export interface LocalQuery {
  readonly dccType?: string
  readonly status?: RowStatus
  /** Also those whose process has ended. */
  readonly dead: boolean
}

/** The instances of this user, for a program other than a gateway: same rows, same query. */
export interface LocalInstances {
  readonly faults: readonly RecordFault[]
  readonly entries: readonly InstanceEntry[]
  row(entry: InstanceEntry): InstanceRow
  list(query: LocalQuery): InstanceAnswer<InstanceRow>
  /** Tells of every change of a row that is shown, or was. Returns the stop. */
  watch(query: LocalQuery, tell: (kind: RowChange, row: InstanceRow) => void): () => void
  close(): Promise<void>
}

type RowChange = 'appeared' | 'changed' | 'gone'

export async function openLocalInstances(
  registryDir: string,
  log: Logger,
): Promise<LocalInstances> {
  const limits = resolveGatewayLimits()
  const directory = await openFsDirectory({
    instancesDir: join(registryDir, 'instances'),
    hostname: hostname(),
    clock: systemClock,
    ticks: monotonicClock,
    timer: systemTimer,
    limits,
    log,
  })
  const answer = (entries: readonly InstanceEntry[], { dccType, status, dead }: LocalQuery) =>
    queryInstances(entries.map(instanceRow), directory.faults, {
      dccType,
      status,
      includeStale: true,
      includeDead: dead,
      limit: maxInstanceRows,
      offset: 0,
      verbose: false,
    })
  return {
    get faults() {
      return directory.faults
    },
    get entries() {
      return directory.entries
    },
    row: instanceRow,
    list: query => answer(directory.entries, query),
    watch(query, tell) {
      const isShown = (entry: InstanceEntry) => answer([entry], query).total > 0
      const shown = new Set(directory.entries.filter(isShown).map(idOf))
      return directory.onChange(changes => {
        for (const change of changes) {
          const kind = changeOf(change, shown, isShown)
          if (kind !== null && 'entry' in change) tell(kind, instanceRow(change.entry))
        }
      })
    },
    close: () => directory.close(),
  }
}

/** What the change means for a client that sees some of the instances; updates `shown`. */
function changeOf(
  change: InstanceChange,
  shown: Set<string>,
  isShown: (entry: InstanceEntry) => boolean,
): RowChange | null {
  if (!('entry' in change)) return null
  const id = idOf(change.entry)
  const before = shown.has(id)
  const now = change.kind !== 'gone' && isShown(change.entry)
  if (now) shown.add(id)
  else shown.delete(id)
  if (!before) return now ? 'appeared' : null
  // One that died, or fits no more, is told of with the state that it is in.
  return change.kind === 'gone' ? 'gone' : 'changed'
}

function idOf({ record }: InstanceEntry): string {
  return record.instanceId
}
