import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from '../resources/endpoint-flags.ts'
import { noteArg } from './note-arg.ts'

/** Answers a note. */
export default class NotesAnswer extends BaseCommand {
  static override summary = 'Answer a note'

  static override description = `Answers a note of the document that is open in the application. The person \
who made it accepts the answer or reopens the note.

${hostEnvironment}`

  static override examples = [
    {
      description: 'an answer',
      command: '<%= config.bin %> notes answer 3 "The lamp is dimmed to 40 W"',
    },
  ]

  static override args = {
    note: noteArg,
    text: Args.string({
      description: 'what was done, or a question',
      required: true,
      ignoreStdin: true,
    }),
  }

  static override flags = instanceFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesAnswer)
    const { runAct } = await import('./run.ts')
    await runAct('answer', args, flags)
  }
}
