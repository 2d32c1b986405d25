import { z } from 'zod'
import type { NoteProof } from '../../lib/mcp/note-proof.ts'
import { messageOf, ServiceError } from '../../lib/util/errors.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { firstIssue } from '../../lib/util/first-issue.ts'
import { isJsonObject, type JsonObject, maxJsonDepth, parseJson } from '../../lib/util/json.ts'
import {
  addedNote,
  nextState,
  type Note,
  noteAct,
  type NoteAction,
  type NoteEntry,
  type NoteState,
} from './note.ts'

/** What is kept of one note, by the names of its files. */
export type NoteFiles = ReadonlyMap<string, Buffer>

/** An action with the longest texts, or a proof with the longest lines, has less. */
const maxStepBytes = 1024 * 1024
/** A picture, or the details of objects. */
const maxBytes = 16 * 1024 * 1024

export const addFile = '0000-add.json'
export const detailsFile = 'details.json'

const keptName =
  /^(\d{4}-(add|answer|accept|reopen|close|proof)\.json|details\.json|(before|(after|difference)-\d{1,4})\.png)$/

/** Whether a note keeps a file under this name. Any other in its folder is left alone. */
export function isKeptName(name: string): boolean {
  return keptName.test(name)
}

/** A larger file of this name is not read. */
export function maxBytesOf(name: string): number {
  return isStepName(name) ? maxStepBytes : maxBytes
}

/** Whether it is an action or a proof, of which the note is made. */
export function isStepName(name: string): boolean {
  return keptName.test(name) && /^\d/.test(name)
}

/** The file of the action, or the proof, with this number. */
export function stepFile(number: number, action: NoteAction | 'proof'): string {
  return `${String(number).padStart(4, '0')}-${action}.json`
}

const text = z.string()
const lines = z.array(text).optional()
const box = z.object({ left: z.number(), top: z.number(), width: z.number(), height: z.number() })
const proved = z.looseObject({
  settled: z.boolean(),
  revision: z.int().nullable(),
  asked: lines,
  also_changed: lines,
  difference: z.object({ uri: text, share: z.number(), box: box.nullable() }).optional(),
})

/**
 * The note that its actions make, taken in the order of the names of their files. One that does not
 * fit the state before it was written by a server that did not see that state yet: it stays, marked
 * as late. Throws for a file that is missing or damaged.
 */
export function noteOf(number: number, files: NoteFiles): Note {
  let state: NoteState = 'open'
  const entries: NoteEntry[] = []
  for (const name of [...files.keys()].toSorted()) {
    const [, digits, action] = /^(\d{4})-(answer|accept|reopen|close)\.json$/.exec(name) ?? []
    if (digits === undefined) continue
    const proof = files.get(`${digits}-proof.json`)
    const next = nextState(state, action as NoteAction)
    state = next ?? state
    entries.push({
      number: Number(digits),
      action: action as NoteAction,
      ...parsed(name, files.get(name), noteAct),
      ...(next === null && { late: true }),
      ...(action === 'answer' &&
        proof !== undefined && { proof: parsed(name, proof, proved) as NoteProof }),
    })
  }
  const { id, ...rest } = parsed(addFile, files.get(addFile), addedNote)
  return { id, number, state, ...rest, entries }
}

function parsed<Value>(name: string, data: Buffer | undefined, schema: z.ZodType<Value>): Value {
  const json = parseJson(String(data ?? ''), maxJsonDepth)
  const checked = schema.safeParse(json.ok ? json.value : undefined)
  if (checked.success) return checked.data
  throw new Error(`${name} is damaged: ${json.ok ? firstIssue(checked.error) : 'it is not JSON'}`)
}

/** A note with its proofs and pictures as JSON: pictures are base64. Throws for a damaged file. */
export function exportedNote(kept: NoteFiles): JsonObject {
  noteOf(0, kept)
  const files = Array.from(kept, ([name, data]) => {
    return [name, isJson(name) ? parseExact(String(data)) : data.toString('base64')]
  })
  return { files: Object.fromEntries(files) }
}

/**
 * The files of a note that `exportedNote` made, without the name of a scene that its server kept.
 * Throws `body_invalid`.
 */
export function importedNote(value: unknown): { id: string; files: NoteFiles } {
  const given = isJsonObject(value) && isJsonObject(value.files) ? value.files : {}
  const files = new Map<string, Buffer>()
  try {
    for (const [name, content] of Object.entries(given)) {
      if (!isKeptName(name)) throw new Error(`"${name}" is not the name of a file of a note`)
      const isAdd = name === addFile && isJsonObject(content)
      const file = isAdd ? { ...content, checkpoint: null } : content
      const data = isJson(name)
        ? Buffer.from(JSON.stringify(file))
        : Buffer.from(String(file), 'base64')
      if (data.length > maxBytesOf(name)) throw new Error(`${name} is too large`)
      files.set(name, data)
    }
    return { id: noteOf(0, files).id, files }
  } catch (error) {
    throw new ServiceError('body_invalid', `this is no exported note: ${messageOf(error)}`)
  }
}

function isJson(name: string): boolean {
  return name.endsWith('.json')
}
