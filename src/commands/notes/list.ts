import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../../lib/cli/base-command.ts'
import { processOutput } from '../../lib/cli/output.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { endpointFlags } from '../endpoint-flags.ts'
import { isNote, lineOf, wrapLine, readNotes, type ShownNote } from './note.ts'

/** What the list has of the text of a note; `notes show` has the rest. */
const listedChars = 300

export default class NotesList extends BaseCommand {
  static override summary = 'List the notes of the open document'
  static override description = `Lists the notes of the document that is open in the application: \
the unsettled ones, or all of them with --all.`
  static override examples = ['<%= config.bin %> notes list']

  static override flags = {
    all: Flags.boolean({ description: 'include accepted and closed notes' }),
    ...endpointFlags,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(NotesList)
    const uri = flags.all ? 'notes://all' : 'notes://open'
    const list = await readNotes(uri, flags, isList)
    const { notes, shared } = list
    const output = processOutput(flags)
    await output.result(notes.map(note => wrapLine(lineOf(note, listedChars))).join('\n'), list)
    if (shared === false) output.note('no document is shared')
    else if (notes.length === 0) output.note(flags.all ? 'no notes' : 'no open notes')
  }
}

function isList(value: unknown): value is JsonObject & { readonly notes: readonly ShownNote[] } {
  return isJsonObject(value) && Array.isArray(value.notes) && value.notes.every(isNote)
}
