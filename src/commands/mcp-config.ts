import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { processStdout } from '../lib/cli/output.ts'
import { homeFolder } from '../lib/config/paths.ts'
import { clients } from '../lib/mcp/settings/clients.ts'
import { scopes } from '../lib/mcp/settings/client.ts'

/** Prints the settings with which an AI client finds a running server, or writes them. */
export default class McpConfig extends BaseCommand {
  static override summary = 'Connect an AI client to a running server'

  static override description = `Prints what belongs into the settings of the client, on stdout and \
nothing else there; where it belongs is said on stderr. With --write it is merged into the \
client's own file: everything else in it stays as it is, a copy of the old one is kept beside it, \
and a second run changes nothing.

Without --url or --instance the entry leads to the only server that is running. The API key is \
never written: the entry refers to SERVICE_MCP_API_KEY where the client can follow that. What \
was tried with which client stands in docs/clients.md.`

  static override usage = 'mcp-config CLIENT [FLAGS]'

  static override examples = [
    { description: 'what to put where', command: '<%= config.bin %> mcp-config cursor' },
    {
      description: 'for every project of yours, done',
      command: '<%= config.bin %> mcp-config claude-code --write',
    },
    {
      description: 'for the folder you are in',
      command: '<%= config.bin %> mcp-config vscode --scope project --write',
    },
    {
      description: 'for a client that starts programs instead of opening connections',
      command: '<%= config.bin %> mcp-config claude-desktop --write',
    },
  ]

  static override args = {
    client: Args.string({
      description: 'whose settings these are',
      required: true,
      ignoreStdin: true,
      options: clients.map(({ id }) => id),
    }),
  }

  static override flags = {
    url: Flags.string({
      description: 'MCP endpoint that the entry leads to',
      helpValue: 'URL',
      exclusive: ['instance'],
    }),
    instance: Flags.string({
      description: 'the running server, by the beginning of its id or by its kind',
      helpValue: 'ID',
    }),
    name: Flags.string({
      description: 'name of the entry [default: the kind of application]',
      helpValue: 'NAME',
    }),
    scope: Flags.option({ options: scopes })({
      description: 'for all your projects, or for the folder you are in',
      default: 'user',
    }),
    stdio: Flags.boolean({
      description: 'let the client start `service-cli connect` instead of opening connections',
    }),
    write: Flags.boolean({ description: "merge the entry into the client's own file" }),
    force: Flags.boolean({
      char: 'f',
      description: 'replace an entry of that name, wherever it leads',
    }),
    auth: Flags.option({ options: ['none', 'api-key'] as const })({
      description: 'whether the server asks for a key [default: what it answers]',
    }),
    'api-key-file': Flags.string({
      description: 'file with the key, for a client that starts `service-cli connect`',
      helpValue: 'FILE',
    }),
    'registry-dir': Flags.string({
      description: 'folder of instance records, as of `service-cli serve`',
      helpValue: 'DIR',
    }),
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(McpConfig)
    const { runMcpConfig } = await import('./mcp-config/run.ts')
    const { env, platform, stderr } = process
    const place = { platform, env, home: homeFolder(), cwd: process.cwd() }
    await runMcpConfig(args.client, flags, { place, stdout: processStdout, stderr })
  }
}
