import { once } from 'node:events'
import { join } from 'node:path'
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

type InstanceDirectory = import('../server/gateway/instance-directory.ts').InstanceDirectory

interface Query {
  readonly dccType: string | undefined
  /** Also those whose process has ended. */
  readonly includeDead: boolean
}

export default class Instances extends BaseCommand {
  static override summary = 'List the running servers of this machine and their state'
  static override description = `Lists your running instances: application, state and its reason, open \
document, and address for clients. Reads the instance records and needs no gateway. Omits columns \
that do not fit the terminal; --json has them.

With --watch it then prints changes until Ctrl-C.`
  static override examples = [
    '<%= config.bin %> instances',
    '<%= config.bin %> instances --dcc-type blender --json',
    '<%= config.bin %> instances --watch',
    '<%= config.bin %> instances --all',
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
    const { LocalDirectory } = await import('../server/gateway/local-directory.ts')
    const query = { dccType, includeDead: flags.all }
    const instancesDir = join(registryDir, 'instances')
    const instances = await LocalDirectory.open({ instancesDir, log: warningsTo(output) })
    try {
      await printList(instances, query, { output, json, registryDir })
      if (watch) await printChanges(instances, query, json)
    } finally {
      await instances.close()
    }
  }
}

async function printList(
  { entries, faults }: InstanceDirectory,
  { dccType, includeDead }: Query,
  { output, json, registryDir }: { output: Output; json: boolean; registryDir: string },
): Promise<void> {
  const { listInstances } = await import('../server/gateway/instance-rows.ts')
  for (const { source, reason } of faults) {
    output.warn(`invalid instance record ${source}: ${reason}`)
  }
  const list = listInstances(entries, { dccType, includeStale: true, includeDead })
  if (json) return writeStdout(jsonLine(list))
  if (list.instances.length > 0) {
    return writeStdout(`${instanceTable(list.instances)}\n`)
  }
  const dead = includeDead ? 0 : list.dead_count
  await writeStdout(`${emptyText(registryDir, dead, dccType !== undefined)}\n`)
}

async function printChanges(
  instances: InstanceDirectory,
  { dccType }: Query,
  json: boolean,
): Promise<void> {
  const { instanceRow, ofType } = await import('../server/gateway/instance-rows.ts')
  const lines = openLiveLines()
  const stop = instances.onChange(changes => {
    for (const change of changes) {
      if (ofType([change.entry], dccType).length === 0) continue
      const row = instanceRow(change.entry)
      const line = json
        ? jsonLine({ event: change.kind, instance: row })
        : `${changeLine(change.kind, row, new Date(), terminalWidth(process.stdout))}\n`
      lines.write(line)
    }
  })
  await once(lines.over, 'abort')
  stop()
  lines.close()
}
