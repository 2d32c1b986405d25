import { wrapWords } from '../../lib/cli/format.ts'
import { type Output, processOutput, warningsTo, terminalWidth } from '../../lib/cli/output.ts'
import { unexpectedAnswer } from '../../lib/mcp/client/failure.ts'
import { hostRequest } from '../../lib/mcp/client/host-request.ts'
import { isNoteProof, proofLines } from '../../lib/mcp/note-proof.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/util/json.ts'
import { userName } from '../../lib/util/posix.ts'
import { asText, cleanText } from '../../lib/util/text.ts'
import { findHost, type HostFlags } from '../artefacts/host-target.ts'
import { type ClientFlags, withServer } from '../resources/client.ts'

const maxDepth = 64
/** What the list has of the text of a note; `notes show` has the rest. */
const listedChars = 300

/** Makes a note and prints its number and id. */
export async function runAdd(
  text: string,
  flags: HostFlags & { by?: string; object?: string[] },
): Promise<void> {
  const { by: author = userName(), object: targets = [] } = flags
  const { output, note } = await write('v1/notes', { text, author, targets }, flags)
  for (const target of Array.isArray(note.targets) ? note.targets : []) {
    if (!isJsonObject(target) || target.gone !== true) continue
    output.warn(`the scene has no object "${cleanText(asText(target.name), 255)}"`)
  }
}

/** Takes an action on a note and prints its new state. */
export async function runAct(
  action: string,
  { note, text }: { note: string; text?: string },
  flags: HostFlags,
): Promise<void> {
  const path = `v1/notes/${encodeURIComponent(note)}/${action}`
  await write(path, { by: userName(), text }, flags)
}

export async function runList(flags: ClientFlags & { all: boolean }): Promise<void> {
  const uri = flags.all ? 'notes://all?limit=1000' : 'notes://open'
  const list = await read(uri, flags, isList)
  const { notes } = list
  const text = notes.map(note => onScreen(lineOf(note, listedChars))).join('\n')
  const output = processOutput(flags)
  await output.result(text, list)
  if (list.shared === false) output.note('no document is shared')
  else if (notes.length === 0) output.note(flags.all ? 'no notes' : 'no open notes')
  for (const id of Array.isArray(list.damaged) ? list.damaged : []) {
    output.warn(
      `note ${cleanText(asText(id), 8)} cannot be read; the log of the server names its file`,
    )
  }
}

export async function runShow(word: string, flags: ClientFlags): Promise<void> {
  const note = await read(`notes://${encodeURIComponent(word)}`, flags, isWholeNote)
  const lines = [lineOf(note), ...note.entries.flatMap(entryLines)].map(onScreen)
  await processOutput(flags).result(lines.join('\n'), note)
}

async function write(
  path: string,
  members: object,
  flags: HostFlags,
): Promise<{ output: Output; note: JsonObject }> {
  const output = processOutput(flags)
  const target = await findHost(flags, warningsTo(output))
  const { note } = await hostRequest(target, { method: 'POST', path, body: members })
  if (!isNote(note)) throw unexpectedAnswer(target.url, path)
  await output.result(onScreen(lineOf(note)), note)
  return { output, note }
}

function read<Value>(
  uri: string,
  flags: ClientFlags,
  isExpected: (value: unknown) => value is Value,
): Promise<Value> {
  return withServer(flags, async server => {
    const [first] = (await readResource(server, uri)).contents
    const parsed = typeof first?.content === 'string' ? parseJson(first.content, maxDepth) : null
    const value = parsed?.ok ? parsed.value : null
    if (isExpected(value)) return value
    throw unexpectedAnswer(server.url, uri)
  })
}

/** Any other member may be missing, or of any form. */
type ShownNote = JsonObject & {
  readonly number: number
  readonly id: string
  readonly state: string
  readonly author: string
  readonly text: string
}

function isNote(value: unknown): value is ShownNote {
  if (!isJsonObject(value) || typeof value.number !== 'number') return false
  return [value.id, value.state, value.author, value.text].every(text => typeof text === 'string')
}

function isList(value: unknown): value is JsonObject & { readonly notes: readonly ShownNote[] } {
  return isJsonObject(value) && Array.isArray(value.notes) && value.notes.every(isNote)
}

function isWholeNote(
  value: unknown,
): value is ShownNote & { readonly entries: readonly JsonObject[] } {
  const isEntry = (entry: unknown) =>
    isJsonObject(entry) && (entry.proof === undefined || isNoteProof(entry.proof))
  return isNote(value) && Array.isArray(value.entries) && value.entries.every(isEntry)
}

/** `3  answered  3fa1b2c4  ada: "Too bright" (Lamp)` */
function lineOf({ number, state, id, author, text, targets }: ShownNote, textChars = 4000): string {
  const names = Array.isArray(targets)
    ? targets.map(each => (isJsonObject(each) ? `${asText(each.name)}${fate(each)}` : asText(each)))
    : []
  const about = names.length === 0 ? '' : ` (${cleanText(names.join(', '), 200)})`
  const head = [String(number), cleanText(state, 10).padEnd(8), cleanText(id, 8)]
  return `${head.join('  ')}  ${cleanText(author, 40)}: ${cleanText(text, textChars)}${about}`
}

/** Wrapped on a terminal, and indented by two columns more than it begins. */
function onScreen(line: string): string {
  const indent = ' '.repeat(line.length - line.trimStart().length + 2)
  return wrapWords(line, terminalWidth(process.stdout), '', indent).join('\n')
}

function fate({ gone, was }: JsonObject): string {
  if (gone === true) return ', not in the scene'
  return was === undefined ? '' : `, was ${asText(was)}`
}

function entryLines({ action, by, at, text = '', proof }: JsonObject): readonly string[] {
  const words = [asText(at), asText(action), `by ${asText(by)}`].map(word => cleanText(word, 60))
  const head = `   ${words.join('  ')}${text === '' ? '' : `: ${cleanText(asText(text), 4000)}`}`
  const seen = isNoteProof(proof) ? proofLines(proof) : []
  return [head, ...seen.map(line => `     ${cleanText(line, 400)}`)]
}
