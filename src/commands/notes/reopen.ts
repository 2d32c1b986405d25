import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'
import { byFlag } from './by-flag.ts'

/** Reopen a note. */
export default class NotesReopen extends BaseCommand {
  static override summary = 'Reopen a note'

  static override description = `Reopens a note that is answered, accepted or closed. The agent is told.

Environment: SERVICE_HOST_URL with SERVICE_HOST_TOKEN (instead of the running instance),
SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'not yet', command: '<%= config.bin %> notes reopen 3 "Still too bright"' },
  ]

  static override args = {
    note: Args.string({
      description: 'number or id of the note',
      required: true,
      ignoreStdin: true,
    }),
    text: Args.string({ description: 'what is missing', required: false, ignoreStdin: true }),
  }

  static override flags = { by: byFlag, ...endpointFlags }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesReopen)
    const { runAct } = await import('./run.ts')
    await runAct('reopen', args, flags, process.env)
  }
}
