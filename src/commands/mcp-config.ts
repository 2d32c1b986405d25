import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { processOutput } from '../lib/cli/output.ts'
import { homeFolder } from '../lib/config/paths.ts'
import { clients } from '../lib/mcp/settings/clients.ts'
import { scopes } from '../lib/mcp/settings/client.ts'

/** Prints or writes the settings with which an AI client finds a running server. */
export default class McpConfig extends BaseCommand {
  static override summary = 'Connect an AI client to a running server'

  static override description = `Prints the entry for the settings of the client to stdout, and the \
name of the file to stderr. With --write it merges the entry into that file: everything else stays \
unchanged, a backup is kept beside it, and a second run changes nothing.

Without --url or --instance the entry is for the only running server. The API key is never written: \
the entry refers to SERVICE_MCP_API_KEY where the client supports variables. docs/clients.md lists \
the tested clients.`

  static override usage = 'mcp-config CLIENT [FLAGS]'

  static override examples = [
    { description: 'print the entry', command: '<%= config.bin %> mcp-config cursor' },
    {
      description: 'write it for all your projects',
      command: '<%= config.bin %> mcp-config claude-code --write',
    },
    {
      description: 'write it for the working folder',
      command: '<%= config.bin %> mcp-config vscode --scope project --write',
    },
    {
      description: 'one entry for all instances, by gateway --aggregate',
      command: '<%= config.bin %> mcp-config claude-code --gateway --write',
    },
    {
      description: 'for a client without HTTP',
      command: '<%= config.bin %> mcp-config claude-desktop --write',
    },
  ]

  static override args = {
    client: Args.string({
      description: `the AI client: ${clients.map(({ id }) => id).join(', ')}`,
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = {
    url: Flags.string({
      description: 'MCP endpoint of the entry',
      helpValue: 'URL',
      exclusive: ['instance', 'gateway'],
    }),
    gateway: Flags.boolean({
      description: 'the running gateway: with --aggregate one entry for every instance',
      exclusive: ['instance'],
    }),
    instance: Flags.string({
      description: 'the running server, by the start of its id or by its kind',
      helpValue: 'ID',
    }),
    name: Flags.string({
      description: 'name of the entry [default: the kind of application]',
      helpValue: 'NAME',
    }),
    scope: Flags.option({ options: scopes })({
      description: 'for all your projects, or for the working folder',
      default: 'user',
    }),
    stdio: Flags.boolean({
      description: 'let the client start `service-cli connect` instead of using HTTP',
    }),
    write: Flags.boolean({ description: 'merge the entry into the settings file of the client' }),
    force: Flags.boolean({
      char: 'f',
      description: 'replace an entry of that name for another server',
    }),
    auth: Flags.option({ options: ['none', 'api-key'] as const })({
      description: 'whether the server requires a key [default: detected]',
    }),
    'api-key-file': Flags.string({
      description: 'file with the key, for a client that starts `service-cli connect`',
      helpValue: 'FILE',
    }),
    'registry-dir': Flags.string({
      description: 'state directory of `service-cli serve`',
      helpValue: 'DIR',
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(McpConfig)
    const { runMcpConfig } = await import('./mcp-config/run.ts')
    const { env, platform } = process
    const place = { platform, env, home: homeFolder(), cwd: process.cwd() }
    await runMcpConfig(args.client, flags, place, processOutput(flags))
  }
}
