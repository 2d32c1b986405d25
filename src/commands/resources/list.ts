import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from './endpoint-flags.ts'

/** Lists the resources of a server. */
export default class ResourcesList extends BaseCommand {
  static override summary = 'List the resources of a running server'

  static override description = `Lists the resources of your running service-cli serve, or of the MCP \
endpoint at --url: name, type, size, last change and URI. Shows only the first resources of a scheme \
with many; --all shows every one. Omits columns that do not fit the terminal; --json has them.

Environment: SERVICE_MCP_API_KEY (the API key), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'the running instance', command: '<%= config.bin %> resources list' },
    {
      description: 'every object whose name or URI contains "lamp"',
      command: '<%= config.bin %> resources list lamp --all',
    },
    {
      description: 'only the URIs',
      command: `<%= config.bin %> resources list --json | jq -r '.resources[].uri'`,
    },
    { description: 'URI templates', command: '<%= config.bin %> resources list --templates' },
    {
      description: 'a gateway, or any other MCP server',
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
