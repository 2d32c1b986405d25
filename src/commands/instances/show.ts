import { aborted, openLiveLines } from '../../lib/cli/live-lines.ts'
import { processOutput, type Output, warningsTo } from '../../lib/cli/output.ts'
import { terminalWidth } from '../../lib/cli/terminal.ts'
import { writeStdout } from '../../lib/cli/write-stdout.ts'
import { selectStateDirectory } from '../../lib/config/paths.ts'
import { jsonLine } from '../../lib/util/text.ts'
import { changeLine, emptyText, instanceTable } from './lines.ts'
import type { InstancesSettings } from './settings.ts'

type LocalInstances = import('../../server/gateway/local-instances.ts').LocalInstances
type LocalQuery = import('../../server/gateway/local-instances.ts').LocalQuery

/** Prints the instances; with `watch`, also changes until a signal or the end of the reader. */
export async function showInstances(settings: InstancesSettings): Promise<void> {
  const { json, watch } = settings
  const output = processOutput(settings)
  const { openLocalInstances } = await import('../../server/gateway/local-instances.ts')
  const query = { dccType: settings.dccType, dead: settings.all }
  const registryDir = selectStateDirectory(settings.registryDir, process.env)
  const instances = await openLocalInstances(registryDir, warningsTo(output))
  try {
    await printList(instances, query, { output, json, registryDir })
    if (watch) await printChanges(instances, query, json)
  } finally {
    await instances.close()
  }
}

async function printList(
  instances: LocalInstances,
  query: LocalQuery,
  { output, json, registryDir }: { output: Output; json: boolean; registryDir: string },
): Promise<void> {
  for (const { source, reason } of instances.faults) {
    output.warn(`invalid instance record ${source}: ${reason}`)
  }
  const list = instances.list(query)
  if (json) return writeStdout(jsonLine({ list_ok: true, ...list }))
  if (list.instances.length > 0) {
    await writeStdout(`${instanceTable(list.instances)}\n`)
    if (list.capped) output.note(`only the first ${list.limit} of ${list.total} are shown`)
    return
  }
  const filtered = query.dccType !== undefined
  const dead = query.dead ? 0 : list.dead_count
  await writeStdout(`${emptyText({ dead, registryDir, filtered })}\n`)
}

async function printChanges(
  instances: LocalInstances,
  query: LocalQuery,
  json: boolean,
): Promise<void> {
  const lines = openLiveLines()
  const stop = instances.watch(query, (event, row) => {
    const line = json
      ? jsonLine({ event, instance: row })
      : `${changeLine(event, row, new Date(), terminalWidth(process.stdout))}\n`
    lines.write(line)
  })
  await aborted(lines.over)
  stop()
  lines.close()
}
