import { once } from 'node:events'
import { join } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { openLiveLines } from '../lib/cli/live-lines.ts'
import { processOutput, warningsTo } from '../lib/cli/output.ts'
import { usage } from '../lib/util/errors.ts'
import { jsonLine } from '../lib/util/text.ts'
import { changeLine, emptyText, instanceTable } from './instances/lines.ts'
import { readStateDirectory, registryDirFlag } from './path-flags.ts'

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
    ...registryDirFlag,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Instances)
    const { json, 'dcc-type': dccType, all: includeDead } = flags
    if (dccType === '') throw usage('--dcc-type is empty', 'a variable in your shell may be unset')
    const registryDir = readStateDirectory(flags, process.env)
    const output = processOutput(flags)
    const { LocalDirectory } = await import('../server/gateway/local-directory.ts')
    const { instanceRow, listInstances, ofType } =
      await import('../server/gateway/instance-rows.ts')
    const instancesDir = join(registryDir, 'instances')
    const instances = await LocalDirectory.open({ instancesDir, log: warningsTo(output) })
    try {
      for (const { source, reason } of instances.faults) {
        output.warn(`invalid instance record ${source}: ${reason}`)
      }
      const query = { dccType, includeStale: true, includeDead }
      const list = listInstances(instances.entries, query)
      const dead = includeDead ? 0 : list.dead_count
      const text =
        list.instances.length > 0
          ? instanceTable(list.instances)
          : emptyText(registryDir, dead, dccType !== undefined)
      await output.result(text, list)
      if (!flags.watch) return
      const lines = openLiveLines()
      instances.onChange(changes => {
        for (const { kind: event, entry } of changes) {
          if (ofType([entry], dccType).length === 0) continue
          const instance = instanceRow(entry)
          lines.write(json ? jsonLine({ event, instance }) : `${changeLine(event, instance)}\n`)
        }
      })
      await once(lines.stopped, 'abort')
      lines.close()
    } finally {
      await instances.close()
    }
  }
}
