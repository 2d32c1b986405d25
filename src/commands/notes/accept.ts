import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from '../resources/endpoint-flags.ts'
import { noteArg } from './note-arg.ts'

/** Accepts the answer of a note. */
export default class NotesAccept extends BaseCommand {
  static override summary = 'Accept the answer of a note'

  static override description = `Accepts the answer of a note and settles the note.

${hostEnvironment}`

  static override examples = [
    { description: 'note 3 is done', command: '<%= config.bin %> notes accept 3' },
  ]

  static override args = {
    note: noteArg,
    text: Args.string({ description: 'a comment', required: false, ignoreStdin: true }),
  }

  static override flags = instanceFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesAccept)
    const { runAct } = await import('./run.ts')
    await runAct('accept', args, flags)
  }
}
