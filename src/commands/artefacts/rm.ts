import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { keyedInstanceFlags } from '../resources/endpoint-flags.ts'

/** Removes an artefact. */
export default class ArtefactsRm extends BaseCommand {
  static override summary = 'Remove an artefact from the running server'

  static override description = `Removes an artefact from your running service-cli serve, by URI, by \
SHA-256 or by a unique start of it. Instances that share an artefact folder share its artefacts, so \
the artefact disappears from all of them.

Environment: SERVICE_MCP_API_KEY (to look up the start of a SHA-256), SERVICE_HOST_URL with \
SERVICE_HOST_TOKEN (instead of the running instance), SERVICE_REGISTRY_DIR.`

  static override examples = [
    {
      description: 'by the start of its SHA-256',
      command: '<%= config.bin %> artefacts rm 3fa1b2c4d5e6',
    },
  ]

  static override args = {
    artefact: Args.string({
      description: 'URI, or at least 4 leading characters of the SHA-256',
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = keyedInstanceFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ArtefactsRm)
    const { runRm } = await import('./rm-run.ts')
    await runRm(args.artefact, flags, process.env)
  }
}
