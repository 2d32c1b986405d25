import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from './endpoint-flags.ts'

/** Shows what changes in a resource. */
export default class ResourcesWatch extends BaseCommand {
  static override summary = 'Subscribe to a resource and print its changes'

  static override description = `Subscribes to a resource of your running service-cli serve, or of the \
MCP endpoint at --url, and prints changes until Ctrl-C: added, removed and changed members of the \
scene and other JSON, or changed lines of text. Combines changes within half a second. Reconnects \
after a restart of the server.

Environment: SERVICE_MCP_API_KEY (the API key), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'the scene', command: '<%= config.bin %> resources watch scene://current' },
    {
      description: 'what the application does',
      command: '<%= config.bin %> resources watch audit://recent',
    },
    {
      description: 'every change as a line of JSON, twice a second at most',
      command: '<%= config.bin %> resources watch scene://current --json',
    },
    {
      description: 'for an agent: one line when nothing has changed for two seconds',
      command: '<%= config.bin %> resources watch scene://current --json --settle 2s',
    },
    {
      description: 'instances that come and go, at a gateway',
      command:
        '<%= config.bin %> resources watch gateway://instances --url http://127.0.0.1:9765/mcp',
    },
  ]

  static override args = {
    uri: Args.string({ description: 'URI as listed', required: true, ignoreStdin: true }),
  }

  static override flags = {
    settle: Flags.string({
      description: 'print when nothing has changed for this time (100ms to 60s)',
      helpValue: 'TIME',
    }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ResourcesWatch)
    const { runWatch } = await import('./watch-run.ts')
    await runWatch(args.uri, flags, process.env)
  }
}
