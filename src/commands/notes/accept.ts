import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { endpointFlags } from '../resources/endpoint-flags.ts'
import { byFlag } from './by-flag.ts'

/** Accept the answer of a note. */
export default class NotesAccept extends BaseCommand {
  static override summary = 'Accept the answer of a note'

  static override description = `Accepts the answer of a note: the note is settled.

Environment: SERVICE_HOST_URL with SERVICE_HOST_TOKEN (instead of the running instance),
SERVICE_REGISTRY_DIR.`

  static override examples = [
    { description: 'note 3 is done', command: '<%= config.bin %> notes accept 3' },
  ]

  static override args = {
    note: Args.string({
      description: 'number or id of the note',
      required: true,
      ignoreStdin: true,
    }),
    text: Args.string({ description: 'a word to the answer', required: false, ignoreStdin: true }),
  }

  static override flags = { by: byFlag, ...endpointFlags }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesAccept)
    const { runAct } = await import('./run.ts')
    await runAct('accept', args, flags, process.env)
  }
}
