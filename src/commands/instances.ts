import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { readInstancesSettings } from './instances/settings.ts'

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
    const settings = readInstancesSettings(flags, process.env)
    const { showInstances } = await import('./instances/show.ts')
    await showInstances(settings)
  }
}
