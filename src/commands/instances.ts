import { once } from 'node:events'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { openLiveLines } from '../lib/cli/live-lines.ts'
import {
  type Output,
  processOutput,
  warningsTo,
  writeStdout,
  terminalWidth,
} from '../lib/cli/output.ts'
import { usage } from '../lib/util/errors.ts'
import { jsonLine } from '../lib/util/text.ts'
import { changeLine, emptyText, instanceTable } from './instances/lines.ts'
import { readStateDirectory } from './path-flags.ts'

type LocalInstances = import('../server/gateway/local-instances.ts').LocalInstances
type LocalQuery = import('../server/gateway/local-instances.ts').LocalQuery

/** Lists the running instances. */
export default class Instances extends BaseCommand {
  static override summary = 'List the running servers of this machine and their state'

  static override description = `Lists your running instances: application, state and its reason, open \
document, and address for clients. Reads the instance records and needs no gateway. Omits columns \
that do not fit the terminal; --json has them.

With --watch it then prints changes until Ctrl-C.`

  static override examples = [
    { description: 'list running instances', command: '<%= config.bin %> instances' },
    {
      description: 'the instances of Blender, as JSON',
      command: '<%= config.bin %> instances --dcc-type blender --json',
    },
    { description: 'keep watching', command: '<%= config.bin %> instances --watch' },
    { description: 'include dead ones', command: '<%= config.bin %> instances --all' },
  ]

  static override flags = {
    'dcc-type': Flags.string({
      description: 'only this kind of application, such as blender',
      helpValue: 'TYPE',
    }),
    all: Flags.boolean({ description: 'include instances whose process has ended' }),
    watch: Flags.boolean({ char: 'w', description: 'keep running and print changes' }),
    'registry-dir': Flags.string({ description: 'state directory', helpValue: 'DIR' }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Instances)
    const { json, watch, 'dcc-type': dccType } = flags
    if (dccType === '') throw usage('--dcc-type is empty', 'a variable in your shell may be unset')
    const registryDir = readStateDirectory(flags, process.env)
    const output = processOutput(flags)
    const { openLocalInstances } = await import('../server/gateway/local-instances.ts')
    const query = { dccType, dead: flags.all }
    const instances = await openLocalInstances(registryDir, warningsTo(output))
    try {
      await printList(instances, query, { output, json, registryDir })
      if (watch) await printChanges(instances, query, json)
    } finally {
      await instances.close()
    }
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
  const dead = query.dead ? 0 : list.dead_count
  await writeStdout(`${emptyText(registryDir, dead, query.dccType !== undefined)}\n`)
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
  await once(lines.over, 'abort')
  stop()
  lines.close()
}
