import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'

/** Lists notes. */
export default class NotesList extends BaseCommand {
  static override summary = 'List the notes of the open document'

  static override description = `Lists the notes of the document that is open in the application: \
the unsettled ones, or all of them with --all.

Environment: SERVICE_MCP_API_KEY (the API key), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'the open notes', command: '<%= config.bin %> notes list' },
  ]

  static override flags = {
    all: Flags.boolean({ description: 'include accepted and closed notes', default: false }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(NotesList)
    const { runList } = await import('./run.ts')
    await runList(flags)
  }
}
