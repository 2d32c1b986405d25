import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from './endpoint-flags.ts'

/** Lists the resources of a server. */
export default class ResourcesList extends BaseCommand {
  static override summary = 'List what a running server offers'

  static override description = `Asks your running service-cli serve, or the MCP endpoint at --url, for \
all its resources: what each is called, its type, size and last change, and the URI to read it by. Of a \
scheme with many resources the first ones are shown. Columns that do not fit the terminal are left \
out; --json has them.

Environment: SERVICE_MCP_API_KEY (the key that the server asks for), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'of the running instance', command: '<%= config.bin %> resources list' },
    {
      description: 'every object whose name or URI contains "lamp"',
      command: '<%= config.bin %> resources list lamp --all',
    },
    {
      description: 'the URIs alone',
      command: `<%= config.bin %> resources list --json | jq -r '.resources[].uri'`,
    },
    {
      description: 'URI templates',
      command: '<%= config.bin %> resources list --templates',
    },
    {
      description: 'of a gateway, or any other MCP server',
      command: '<%= config.bin %> resources list --url http://127.0.0.1:9765/mcp',
    },
  ]

  static override args = {
    filter: Args.string({
      ignoreStdin: true,
      description: 'text to find in name or URI, case-insensitive',
    }),
  }

  static override flags = {
    all: Flags.boolean({
      char: 'a',
      description: 'show every resource of every scheme',
      default: false,
    }),
    templates: Flags.boolean({
      description: 'list templates instead of resources',
      default: false,
    }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ResourcesList)
    const { runList } = await import('./list-run.ts')
    await runList(args.filter, flags, process.env)
  }
}
