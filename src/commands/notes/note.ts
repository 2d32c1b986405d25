import * as Args from '@oclif/core/args'
import { wrapWords } from '../../lib/cli/format.ts'
import { type Output, processOutput, warningsTo, terminalWidth } from '../../lib/cli/output.ts'
import { unexpectedAnswer } from '../../lib/mcp/client/failure.ts'
import { hostRequest } from '../../lib/mcp/client/host-request.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { maxNoteTextChars } from '../../lib/mcp/note-proof.ts'
import { usage } from '../../lib/util/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/util/json.ts'
import { asText, cleanText } from '../../lib/util/text.ts'
import { findHost, type HostFlags } from '../find-host.ts'
import { type ClientFlags, withServer } from '../resources/client.ts'

const maxDepth = 64

/** The note that a command is about. */
export const noteArg = Args.string({
  description: 'number or id of the note',
  required: true,
  ignoreStdin: true,
})

/** Sends an action over the host link and prints the note as it is then. */
export async function writeNote(
  path: string,
  members: { text: string | undefined; [member: string]: unknown },
  flags: HostFlags,
): Promise<{ output: Output; note: JsonObject }> {
  if (members.text?.trim() === '') throw usage('text: must not be empty')
  const output = processOutput(flags)
  const target = await findHost(flags, warningsTo(output))
  const { note } = await hostRequest(target, { method: 'POST', path, body: members })
  if (!isNote(note)) throw unexpectedAnswer(target.url, path)
  await output.result(wrapLine(lineOf(note)), note)
  return { output, note }
}

/** Reads a resource of notes. */
export function readNotes<Value>(
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
export type ShownNote = JsonObject & {
  readonly number: number
  readonly id: string
  readonly state: string
  readonly author: string
  readonly text: string
}

export function isNote(value: unknown): value is ShownNote {
  if (!isJsonObject(value) || typeof value.number !== 'number') return false
  return [value.id, value.state, value.author, value.text].every(text => typeof text === 'string')
}

/** `3  answered  3fa1b2c4  ada: "Too bright" (Lamp)` */
export function lineOf(
  { number, state, id, author, text, targets }: ShownNote,
  textChars = maxNoteTextChars,
): string {
  const names = (Array.isArray(targets) ? targets : []).map(targetText)
  const about = names.length === 0 ? '' : ` (${cleanText(names.join(', '), 200)})`
  const head = [String(number), cleanText(state, 10).padEnd(8), cleanText(id, 8)]
  return `${head.join('  ')}  ${cleanText(author, 40)}: ${cleanText(text, textChars)}${about}`
}

/** Wrapped on a terminal, and indented by two columns more than it begins. */
export function wrapLine(line: string): string {
  const indent = ' '.repeat(line.length - line.trimStart().length + 2)
  return wrapWords(line, terminalWidth(process.stdout), '', indent).join('\n')
}

function targetText(target: unknown): string {
  if (!isJsonObject(target)) return asText(target)
  const name = asText(target.name)
  if (target.gone === true) return `${name}, not in the scene`
  return target.was === undefined ? name : `${name}, was ${asText(target.was)}`
}
