import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'

/** Fetches an artefact. */
export default class ArtefactsGet extends BaseCommand {
  static override summary = 'Download an artefact of any size to a file'

  static override description = `Downloads an artefact and verifies its SHA-256. Without --out the file \
gets the name of the artefact, in the working folder, and never replaces another file.

Environment: SERVICE_MCP_API_KEY (the API key), SERVICE_REGISTRY_DIR.`

  static override examples = [
    {
      description: 'by the start of its SHA-256',
      command: '<%= config.bin %> artefacts get 3fa1b2c4d5e6',
    },
    {
      description: 'under another name',
      command: '<%= config.bin %> artefacts get 3fa1b2c4d5e6 --out frame.png',
    },
    {
      description: 'into another program',
      command: '<%= config.bin %> artefacts get 3fa1b2c4d5e6 --out - | tar tz',
    },
  ]

  static override args = {
    artefact: Args.string({
      description: 'a URI, or at least 4 leading characters of the SHA-256',
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = {
    out: Flags.string({
      description: 'the file, or the folder for it; - is stdout',
      helpValue: 'FILE',
    }),
    force: Flags.boolean({ description: 'replace the file of --out', default: false }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ArtefactsGet)
    const { runGet } = await import('./get-run.ts')
    await runGet(args.artefact, flags, process.env)
  }
}
