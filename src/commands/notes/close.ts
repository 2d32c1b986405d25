import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from '../resources/endpoint-flags.ts'
import { noteArg } from './note-arg.ts'

/** Closes a note. */
export default class NotesClose extends BaseCommand {
  static override summary = 'Close a note'

  static override description = `Closes a note without accepting an answer.

${hostEnvironment}`

  static override examples = [
    { description: 'no longer needed', command: '<%= config.bin %> notes close 3' },
  ]

  static override args = {
    note: noteArg,
    text: Args.string({ description: 'the reason', required: false, ignoreStdin: true }),
  }

  static override flags = instanceFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesClose)
    const { runAct } = await import('./run.ts')
    await runAct('close', args, flags)
  }
}
