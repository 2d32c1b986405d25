import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { levelOf } from '../lib/cli/log-level.ts'
import { logFlags } from './server-flags.ts'
import { refuseJson } from './stdio/refuse-json.ts'

/** Lets a client that speaks stdio use a running endpoint. */
export default class Connect extends BaseCommand {
  static override summary = 'Let a client that only speaks stdio use a running MCP endpoint'

  static override usage = 'connect [URL | INSTANCE] [FLAGS]'

  static override description = `Passes JSON-RPC messages, one a line, from stdin to an MCP endpoint \
on HTTP and its answers and notifications to stdout. Without a word it takes the only running \
service-cli serve of yours; an instance is named by its id, the beginning of it (4 characters or \
more), or a kind of application that runs only once.

When the server restarts the connection is restored: session, subscriptions and streams. Meant to \
be started by a client; what happens is told on stderr. Ends with stdin.

Environment: SERVICE_MCP_API_KEY (the key that the server asks for), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'the running instance', command: '<%= config.bin %> connect' },
    { description: 'the one of Blender', command: '<%= config.bin %> connect blender' },
    { description: 'one of several', command: '<%= config.bin %> connect 3f2a91c0' },
    {
      description: 'an address, with the key from a file only you can read',
      command:
        '<%= config.bin %> connect https://studio.example/mcp --api-key-file ~/.config/mcp.key',
    },
  ]

  static override args = {
    target: Args.string({
      description: 'address of an MCP endpoint, or an instance',
      required: false,
      // Stdin is the client's: the parser would take its first message for this word.
      ignoreStdin: true,
    }),
  }

  static override flags = {
    'api-key-file': Flags.string({
      description: 'file with the key that the server asks for; before SERVICE_MCP_API_KEY',
      helpValue: 'FILE',
    }),
    'allow-http': Flags.boolean({
      description: 'send the key unencrypted to another machine',
      default: false,
    }),
    'registry-dir': Flags.string({
      description: 'folder of instance records; before SERVICE_REGISTRY_DIR',
      helpValue: 'DIR',
    }),
    ...logFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Connect)
    refuseJson(flags.json, 'connect')
    const { runConnect } = await import('./stdio/connect.ts')
    await runConnect(args.target, { ...flags, level: levelOf(flags) }, process.env)
  }
}
