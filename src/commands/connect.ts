import * as Args from '@oclif/core/args'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { findEndpoint } from './find-endpoint.ts'
import { rootsOnly } from './own-servers.ts'
import { logFlags } from './server-flags.ts'
import { accessFlags } from './endpoint-flags.ts'

export default class Connect extends BaseCommand {
  static override summary = 'Connect a stdio client to a running MCP endpoint'
  static override usage = 'connect [URL | INSTANCE | gateway] [FLAGS]'
  static override description = `Forwards JSON-RPC messages from stdin to an HTTP MCP endpoint, and \
writes what it returns to stdout. Without an argument it uses your only running \
service-cli serve. Name an instance by its id, the start of it (4 characters or more), its name or \
document, or a kind of application that runs only once. The word gateway names the running gateway.

Restores session, subscriptions and streams when the server restarts. Meant to be started by a \
client; logs to stderr. Ends when stdin ends.`
  static override examples = [
    '<%= config.bin %> connect',
    '<%= config.bin %> connect blender',
    '<%= config.bin %> connect gateway',
    '<%= config.bin %> connect 3f2a91c0',
    '<%= config.bin %> connect https://studio.example/mcp --api-key-file ~/mcp.key',
  ]

  static override args = {
    target: Args.string({
      description: 'address of an MCP endpoint, or an instance',
      required: false,
      // The parser would read the first message of the client as this argument.
      ignoreStdin: true,
    }),
  }

  static override flags = { ...accessFlags, ...logFlags }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(Connect)
    const { runStdio } = await import('./stdio/run.ts')
    await runStdio(flags, async log => {
      const { found, ...endpoint } = await findEndpoint(args.target, flags, process.env, {
        log,
        naming: 'service-cli connect ID, or all of them: service-cli connect gateway',
      })
      log.info(found, 'messages on stdin go to the endpoint')
      if (found.aggregate === false) log.warn({}, rootsOnly)
      return endpoint
    })
  }
}
