import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { readInstancesSettings } from './instances/settings.ts'

/** Shows the running instances. */
export default class Instances extends BaseCommand {
  static override summary = 'List the running servers of this machine and their state'

  static override description = `Lists every running instance of yours: its application, its state and \
the reason for it, the open document, and the address for clients. It looks at the records of the \
instances itself: no gateway need run. Columns that do not fit the terminal are left out; --json \
has them.

With --watch it goes on, and prints what changes until Ctrl-C.`

  static override examples = [
    { description: 'list running instances', command: '<%= config.bin %> instances' },
    {
      description: 'the addresses of everything that is Blender',
      command: '<%= config.bin %> instances --dcc-type blender --json',
    },
    { description: 'keep watching', command: '<%= config.bin %> instances --watch' },
    { description: 'include dead ones', command: '<%= config.bin %> instances --all' },
  ]

  static override flags = {
    'dcc-type': Flags.string({
      description: 'only this kind of application, as in blender',
      helpValue: 'TYPE',
    }),
    status: Flags.string({
      description: 'only those in this state, as in busy, stale or dead',
      helpValue: 'STATUS',
    }),
    all: Flags.boolean({ description: 'include instances whose process has ended' }),
    watch: Flags.boolean({ char: 'w', description: 'keep running and print changes' }),
    'registry-dir': Flags.string({
      description: 'folder of the instance records',
      helpValue: 'DIR',
    }),
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Instances)
    const settings = readInstancesSettings(flags, process.env)
    const { showInstances } = await import('./instances/show.ts')
    await showInstances(settings)
  }
}
