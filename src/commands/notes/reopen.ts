import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from '../resources/endpoint-flags.ts'
import { noteArg } from './note-arg.ts'

/** Reopens a note. */
export default class NotesReopen extends BaseCommand {
  static override summary = 'Reopen a note'

  static override description = `Reopens a note that is answered, accepted or closed. The agent is told.

${hostEnvironment}`

  static override examples = [
    {
      description: 'with what is missing',
      command: '<%= config.bin %> notes reopen 3 "Still too bright"',
    },
  ]

  static override args = {
    note: noteArg,
    text: Args.string({ description: 'what is missing', required: false, ignoreStdin: true }),
  }

  static override flags = instanceFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesReopen)
    const { runAct } = await import('./run.ts')
    await runAct('reopen', args, flags)
  }
}
