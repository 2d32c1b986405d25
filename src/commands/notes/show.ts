import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'
import { noteArg } from './note-arg.ts'

/** Shows a note. */
export default class NotesShow extends BaseCommand {
  static override summary = 'Show a note with its answers'

  static override description = `Shows one note of the open document: its text, the objects that it is \
about, and what happened since.

Environment: SERVICE_MCP_API_KEY (the API key), SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'by its number', command: '<%= config.bin %> notes show 3' },
  ]

  static override args = { note: noteArg }

  static override flags = endpointFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesShow)
    const { runShow } = await import('./run.ts')
    await runShow(args.note, flags)
  }
}
