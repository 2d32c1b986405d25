import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'

/** Lists artefacts. */
export default class ArtefactsList extends BaseCommand {
  static override summary = 'List stored files, newest first'

  static override description = `Asks your running service-cli serve, or the MCP endpoint at --url, for \
its artefacts: the beginning of their SHA-256, name, type, size, and how long they are kept.

Environment: SERVICE_MCP_API_KEY (the key that the server asks for), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'of the running instance', command: '<%= config.bin %> artefacts list' },
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
