import { BaseCommand } from '../../lib/cli/base-command.ts'
import { processOutput } from '../../lib/cli/output.ts'
import { maxNoteTextChars, type NoteProof, proofLines } from '../../lib/mcp/note-proof.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { asText, cleanText } from '../../lib/util/text.ts'
import { endpointFlags } from '../endpoint-flags.ts'
import { isNote, lineOf, noteArg, wrapLine, readNotes, type ShownNote } from './note.ts'

export default class NotesShow extends BaseCommand {
  static override summary = 'Show a note with its answers'
  static override description = `Shows one note of the open document: its text, the objects that it is \
about, and what happened since.`
  static override examples = ['<%= config.bin %> notes show 3']

  static override args = { note: noteArg }

  static override flags = endpointFlags

  override async run(): Promise<void> {
    const { args, flags } = await this.parse(NotesShow)
    const note = await readNotes(`notes://${encodeURIComponent(args.note)}`, flags, isWholeNote)
    const lines = [lineOf(note), ...note.entries.flatMap(entryLines)].map(wrapLine)
    await processOutput(flags).result(lines.join('\n'), note)
  }
}

function isWholeNote(
  value: unknown,
): value is ShownNote & { readonly entries: readonly JsonObject[] } {
  return isNote(value) && Array.isArray(value.entries) && value.entries.every(isJsonObject)
}

function entryLines({ action, by, at, text = '', late, proof }: JsonObject): readonly string[] {
  const words = [asText(at), asText(action), `by ${asText(by)}`].map(word => cleanText(word, 60))
  const was = late === true ? ' (late, changed nothing)' : ''
  const said = text === '' ? '' : `: ${cleanText(asText(text), maxNoteTextChars)}`
  const head = `   ${words.join('  ')}${was}${said}`
  const seen = proof === undefined ? [] : proofLines(proof as NoteProof)
  return [head, ...seen.map(line => `     ${cleanText(line, 400)}`)]
}
