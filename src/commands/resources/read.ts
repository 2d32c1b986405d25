import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from './endpoint-flags.ts'

/** Reads one resource. */
export default class ResourcesRead extends BaseCommand {
  static override summary = 'Read a resource: show text, save anything else to a file'

  static override description = `Reads a resource of your running service-cli serve, or of the MCP \
endpoint at --url. A terminal shows indented JSON, and binary data is saved to a new file in the \
working folder; a pipe or a file gets exactly the bytes that the server sent.

Environment: SERVICE_MCP_API_KEY (the API key), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'the scene', command: '<%= config.bin %> resources read scene://current' },
    {
      description: 'the window of the application, as a picture',
      command: '<%= config.bin %> resources read capture://current_window --out window.png',
    },
    {
      description: 'a part of the scene',
      command: '<%= config.bin %> resources read scene://current | jq .selection',
    },
    {
      description: 'the whole protocol answer',
      command: '<%= config.bin %> resources read audit://recent --json',
    },
  ]

  static override args = {
    uri: Args.string({ description: 'URI as listed', required: true, ignoreStdin: true }),
  }

  static override flags = {
    out: Flags.string({
      description: 'write into this file; - is stdout, for binary data too',
      helpValue: 'FILE',
    }),
    force: Flags.boolean({ description: 'replace the file of --out', default: false }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(ResourcesRead)
    const { runRead } = await import('./read-run.ts')
    await runRead(args.uri, flags, process.env)
  }
}
