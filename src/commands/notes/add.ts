import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { userName } from '../../lib/util/posix.ts'
import { asText, cleanText } from '../../lib/util/text.ts'
import { hostEnvironment, instanceFlags } from '../endpoint-flags.ts'
import { writeNote } from './note.ts'

export default class NotesAdd extends BaseCommand {
  static override summary = 'Make a note about the open document'
  static override description = `Makes a note about the document that is open in the application, for \
an agent to act on. Notifies agents that subscribe to notes://open.

${hostEnvironment}`
  static override examples = ['<%= config.bin %> notes add "Too bright" --object Light']

  static override args = {
    text: Args.string({ description: 'what should change', required: true, ignoreStdin: true }),
  }

  static override flags = {
    object: Flags.string({
      description: 'id or name of an object of the note (repeatable)',
      helpValue: 'ID',
      multiple: true,
      multipleNonGreedy: true,
    }),
    by: Flags.string({ description: 'author [default: your user name]', helpValue: 'NAME' }),
    ...instanceFlags,
  }

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesAdd)
    const { by: author = userName(), object: targets = [] } = flags
    const { output, note } = await writeNote(
      'v1/notes',
      { text: args.text, author, targets },
      flags,
    )
    for (const target of Array.isArray(note.targets) ? note.targets : []) {
      if (!isJsonObject(target) || target.gone !== true) continue
      output.warn(`the scene has no object "${cleanText(asText(target.name), 255)}"`)
    }
  }
}
