import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'
import { byFlag } from './by-flag.ts'

/** Close a note. */
export default class NotesClose extends BaseCommand {
  static override summary = 'Close a note'

  static override description = `Closes a note without accepting an answer.

Environment: SERVICE_HOST_URL with SERVICE_HOST_TOKEN (instead of the running instance),
SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'no longer needed', command: '<%= config.bin %> notes close 3' },
  ]

  static override args = {
    note: Args.string({
      description: 'number or id of the note',
      required: true,
      ignoreStdin: true,
    }),
    text: Args.string({ description: 'why', required: false, ignoreStdin: true }),
  }

  static override flags = { by: byFlag, ...endpointFlags }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesClose)
    const { runAct } = await import('./run.ts')
    await runAct('close', args, flags, process.env)
  }
}
