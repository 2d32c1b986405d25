import * as Args from '@oclif/core/args'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { userName } from '../../lib/util/posix.ts'
import { hostEnvironment, instanceFlags } from '../endpoint-flags.ts'
import { noteArg, writeNote } from './note.ts'

interface NoteAction {
  readonly action: 'accept' | 'answer' | 'close' | 'reopen'
  readonly summary: string
  readonly description: string
  readonly example: string
  /** What the text of the action is. */
  readonly text: string
  readonly isTextRequired?: boolean
}

/** Makes the command that takes an action on a note and prints its new state. */
export function noteAction(of: NoteAction): typeof BaseCommand {
  const { action, text, isTextRequired: required = false } = of
  return class NoteActionCommand extends BaseCommand {
    static override summary = of.summary

    static override description = `${of.description}\n\n${hostEnvironment}`

    static override examples = [of.example]

    static override args = {
      note: noteArg,
      text: Args.string({ description: text, required, ignoreStdin: true }),
    }

    static override flags = instanceFlags

    override async run(): Promise<void> {
      const { args, flags } = await this.parse(NoteActionCommand)
      const path = `v1/notes/${encodeURIComponent(args.note)}/${action}`
      await writeNote(path, { by: userName(), text: args.text }, flags)
    }
  }
}
