import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { hostRequest, jsonBody } from '../../lib/mcp/client/host-request.ts'
import { type NoteProof, proofLines } from '../../lib/mcp/note-proof.ts'
import { readResource } from '../../lib/mcp/client/resources.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/util/json.ts'
import { userName } from '../../lib/util/posix.ts'
import { asText, cleanText } from '../../lib/util/text.ts'
import { findHost, type HostFlags } from '../artefacts/host-target.ts'
import { type ClientFlags, readClientLimits, withSession } from '../resources/client.ts'

interface WriteFlags extends HostFlags {
  by?: string | undefined
}

const maxDepth = 64
/** Of one note in the list: `notes show` has the rest. */
const listedChars = 300

/** Makes a note and prints its number and id. */
export async function runAdd(
  text: string,
  flags: WriteFlags & { object?: string[] | undefined },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { object: targets = [] } = flags
  await write('v1/notes', { text, author: authorOf(flags), targets }, flags, env)
}

/** Takes an action on a note and prints its new state. */
export async function runAct(
  action: string,
  { note, text }: { note: string; text?: string | undefined },
  flags: WriteFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const path = `v1/notes/${encodeURIComponent(note)}/${action}`
  await write(path, { by: authorOf(flags), text }, flags, env)
}

export async function runList(
  flags: ClientFlags & { all: boolean },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const list = await read(flags.all ? 'notes://all?limit=1000' : 'notes://open', flags, env)
  const notes = Array.isArray(list.notes) ? list.notes.filter(isJsonObject) : []
  const text = notes.map(note => lineOf(note, listedChars)).join('\n')
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
  const lines = [lineOf(note), ...entries.flatMap(entryLines)]
  await processOutput(flags).result(lines.join('\n'), note)
}

async function write(
  path: string,
  members: object,
  flags: WriteFlags,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const output = processOutput(flags)
  const { target } = await findHost(flags, env, warningsTo(output))
  const { signal } = new AbortController()
  const { note } = await hostRequest(target, {
    ...{ method: 'POST', path, ...jsonBody(members) },
    silenceMs: readClientLimits(env).answerMs,
    signal,
  })
  if (!isJsonObject(note)) throw new ServiceError('resource_failed', 'the answer has no note')
  await output.result(lineOf(note), note)
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
  return by ?? userName()
}

/** `3  answered  3fa1b2c4  ada: "Too bright" (Lamp)` */
function lineOf(
  { number, state, id, author, text, targets }: JsonObject,
  textChars = 4000,
): string {
  const names = Array.isArray(targets)
    ? targets.map(each => (isJsonObject(each) ? `${asText(each.name)}${fate(each)}` : asText(each)))
    : []
  const about = names.length === 0 ? '' : ` (${cleanText(names.join(', '), 200)})`
  const head = [shown(number, 20), shown(state, 10).padEnd(8), shown(id, 8)]
  return `${head.join('  ')}  ${shown(author, 40)}: ${shown(text, textChars)}${about}`
}

function shown(value: unknown, most: number): string {
  return cleanText(asText(value), most)
}

function fate({ gone, was }: JsonObject): string {
  if (gone === true) return ', gone'
  return was === undefined ? '' : `, was ${asText(was)}`
}

function entryLines({ action, by, at, text = '', proof }: JsonObject): readonly string[] {
  const words = [at, action, `by ${asText(by)}`].map(word => shown(word, 60))
  const head = `   ${words.join('  ')}${text === '' ? '' : `: ${shown(text, 4000)}`}`
  const seen = isJsonObject(proof) ? proofText(proof) : []
  return [head, ...seen.map(line => `     ${cleanText(line, 400)}`)]
}

function proofText(proof: JsonObject): readonly string[] {
  try {
    return proofLines(proof as unknown as NoteProof)
  } catch {
    // Another server may have other members.
    return ['the proof is not of the expected form']
  }
}
