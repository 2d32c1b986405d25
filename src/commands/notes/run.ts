import { userInfo } from 'node:os'
import { wrapWords } from '../../lib/cli/format.ts'
import { type Output, processOutput, warningsTo } from '../../lib/cli/output.ts'
import { terminalWidth } from '../../lib/cli/terminal.ts'
import { hostRequest, jsonBody } from '../../lib/mcp/client/host-request.ts'
import { type NoteProof, proofLines } from '../../lib/mcp/note-proof.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/util/json.ts'
import { cleanText } from '../../lib/util/text.ts'
import { findHost, type HostFlags } from '../artefacts/host-target.ts'
import { type ClientFlags, readClientLimits, withSession } from '../resources/client.ts'

interface WriteFlags extends HostFlags {
  by?: string | undefined
}

const maxDepth = 64
/** Of one note in the list: `notes show` has the rest. */
const listedChars = 300
/** The server waits until the scene has settled, and takes pictures, before it confirms an answer. */
const proofMs = 20_000

/** Makes a note and prints its number and id. */
export async function runAdd(
  text: string,
  flags: WriteFlags & { object?: string[] | undefined },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { object: targets = [] } = flags
  const { output, note } = await write(
    'v1/notes',
    { text, author: authorOf(flags), targets },
    flags,
    env,
  )
  for (const target of Array.isArray(note.targets) ? note.targets : []) {
    if (!isJsonObject(target) || target.gone !== true) continue
    output.warn(`the scene has no object "${cleanText(String(target.name), 255)}"`)
  }
}

/** Takes an action on a note and prints its new state. */
export async function runAct(
  action: string,
  { note, text }: { note: string; text?: string | undefined },
  flags: WriteFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const path = `v1/notes/${encodeURIComponent(note)}/${action}`
  const overdueMs = action === 'answer' ? proofMs : undefined
  await write(path, { by: authorOf(flags), text }, flags, env, overdueMs)
}

export async function runList(
  flags: ClientFlags & { all: boolean },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const list = await read(flags.all ? 'notes://all?limit=1000' : 'notes://open', flags, env)
  const notes = Array.isArray(list.notes) ? list.notes.filter(isJsonObject) : []
  const text = notes.map(note => onScreen(lineOf(note, listedChars))).join('\n')
  const output = processOutput(flags)
  await output.result(text, list)
  if (notes.length === 0) output.note(flags.all ? 'no notes' : 'no open notes')
}

export async function runShow(
  word: string,
  flags: ClientFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const note = await read(`notes://${encodeURIComponent(word)}`, flags, env)
  const entries = Array.isArray(note.entries) ? note.entries.filter(isJsonObject) : []
  const lines = [lineOf(note), ...entries.flatMap(entryLines)].map(onScreen)
  await processOutput(flags).result(lines.join('\n'), note)
}

async function write(
  path: string,
  members: object,
  flags: WriteFlags,
  env: NodeJS.ProcessEnv,
  overdueMs?: number,
): Promise<{ output: Output; note: JsonObject }> {
  const output = processOutput(flags)
  const { target } = await findHost(flags, env, warningsTo(output))
  const { signal } = new AbortController()
  const { note } = await hostRequest(target, {
    ...{ method: 'POST', path, ...jsonBody(members) },
    silenceMs: readClientLimits(env).answerMs,
    ...(overdueMs !== undefined && { overdueMs }),
    signal,
  })
  if (!isJsonObject(note)) throw new ServiceError('resource_failed', 'the answer has no note')
  await output.result(onScreen(lineOf(note)), note)
  return { output, note }
}

function read(uri: string, flags: ClientFlags, env: NodeJS.ProcessEnv): Promise<JsonObject> {
  return withSession(flags, env, async (session, _client, signal) => {
    const [content] = (await readResource(session, uri, signal)).contents
    const parsed = content?.kind === 'text' ? parseJson(content.text, maxDepth) : null
    if (parsed?.ok && isJsonObject(parsed.value)) return parsed.value
    throw new ServiceError('resource_failed', `${uri} is not of the expected form`)
  })
}

function authorOf({ by }: WriteFlags): string {
  return by ?? userInfo().username
}

/** `3  answered  3fa1b2c4  ada: "Too bright" (Lamp)` */
function lineOf(
  { number, state, id, author, text, targets }: JsonObject,
  textChars = 4000,
): string {
  const names = Array.isArray(targets)
    ? targets.map(each => (isJsonObject(each) ? `${String(each.name)}${fate(each)}` : String(each)))
    : []
  const about = names.length === 0 ? '' : ` (${cleanText(names.join(', '), 200)})`
  const head = [String(number), cleanText(String(state), 10).padEnd(8), cleanText(String(id), 8)]
  return `${head.join('  ')}  ${cleanText(String(author), 40)}: ${cleanText(String(text), textChars)}${about}`
}

/** Wrapped on a terminal, and indented by two columns more than it begins. */
function onScreen(line: string): string {
  const indent = ' '.repeat(line.length - line.trimStart().length + 2)
  return wrapWords(line, terminalWidth(process.stdout), '', indent).join('\n')
}

function fate({ gone, was }: JsonObject): string {
  if (gone === true) return ', gone'
  return was === undefined ? '' : `, was ${String(was)}`
}

function entryLines({ action, by, at, text = '', proof }: JsonObject): readonly string[] {
  const words = [String(at), String(action), `by ${String(by)}`].map(word => cleanText(word, 60))
  const head = `   ${words.join('  ')}${text === '' ? '' : `: ${cleanText(String(text), 4000)}`}`
  const seen = isJsonObject(proof) ? proofLines(proof as unknown as NoteProof) : []
  return [head, ...seen.map(line => `     ${cleanText(line, 400)}`)]
}
