import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'

/** Lists artefacts. */
export default class ArtefactsList extends BaseCommand {
  static override summary = 'List stored files, newest first'

  static override description = `Lists the artefacts of your running service-cli serve, or of the MCP \
endpoint at --url: start of the SHA-256, name, type, size and expiry.

Environment: SERVICE_MCP_API_KEY (the API key), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'the running instance', command: '<%= config.bin %> artefacts list' },
    {
      description: 'the newest one',
      command: `<%= config.bin %> artefacts list --json | jq -r '.artefacts[0].uri'`,
    },
  ]

  static override flags = endpointFlags

  override async run(): Promise<void> {
    const { flags } = await this.parse(ArtefactsList)
    const { runArtefactsList } = await import('./list-run.ts')
    await runArtefactsList(flags, process.env)
  }
}
