import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from '../resources/endpoint-flags.ts'

/** Stores a file in the running server. */
export default class ArtefactsPut extends BaseCommand {
  static override summary = 'Store a file in the running server for clients'

  static override description = `Sends a file of any size to your running service-cli serve over its \
host link and prints its URI for clients. Equal bytes are stored once.

${hostEnvironment}`

  static override examples = [
    { description: 'a picture', command: '<%= config.bin %> artefacts put frame_0024.png' },
    {
      description: 'the output of another program',
      command: 'render | <%= config.bin %> artefacts put - --name shot.exr --mime image/x-exr',
    },
    {
      description: 'store with metadata',
      command: `<%= config.bin %> artefacts put shot.usdz --metadata '{"frame":24}'`,
    },
  ]

  static override args = {
    file: Args.string({ description: 'the file; - is stdin', required: true, ignoreStdin: true }),
  }

  static override flags = {
    name: Flags.string({
      description: 'display name [default: the name of the file]',
      helpValue: 'NAME',
    }),
    mime: Flags.string({
      description: 'MIME type [default: by file extension]',
      helpValue: 'TYPE',
    }),
    metadata: Flags.string({ description: 'metadata as JSON', helpValue: 'JSON' }),
    ...instanceFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ArtefactsPut)
    const { runPut } = await import('./put-run.ts')
    await runPut(args.file, flags, process.env)
  }
}
