import { z } from 'zod'
import type { NoteProof } from '../../lib/mcp/note-proof.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { parseExact } from '../../lib/util/exact-json.ts'
import { firstIssue } from '../../lib/util/first-issue.ts'
import { isJsonObject, type JsonObject, maxJsonDepth, parseJson } from '../../lib/util/json.ts'
import type { Note, NoteAction, NoteEntry, NoteState } from '../../lib/mcp/note.ts'
import { nextState } from './note.ts'

/** What is kept of one note, by the names of its files. */
export type NoteFiles = ReadonlyMap<string, string | Uint8Array>

/** Of JSON: an action with the longest texts, or a proof with the longest lines, has less. */
export const maxJsonBytes = 1024 * 1024
export const maxPictureBytes = 16 * 1024 * 1024

export const addFile = '0000-add.json'
export const detailsFile = 'details.json'

const keptName =
  /^(\d{4}-(add|answer|accept|reopen|close|proof)\.json|details\.json|(before|(after|difference)-\d{1,4})\.png)$/

/** Whether a note keeps a file under this name. Any other in its folder is left alone. */
export function isKeptName(name: string): boolean {
  return keptName.test(name)
}

/** The file of the action, or the proof, with this number. */
export function stepFile(number: number, action: NoteAction | 'proof'): string {
  return `${String(number).padStart(4, '0')}-${action}.json`
}

const text = z.string()
const lines = z.array(text).optional()
const box = z.object({ left: z.number(), top: z.number(), width: z.number(), height: z.number() })
const added = z.object({
  id: text.regex(/^[0-9a-f]{8}$/),
  text,
  author: text,
  created_at: text,
  targets: z.array(z.object({ id: text, name: text, uid: text.optional() })),
  position: z.array(z.number()).length(3).optional(),
  pin: z.tuple([z.number(), z.number()]).optional(),
  view: z.record(z.string(), z.unknown()).optional(),
  frame: z.int().optional(),
  checkpoint: text.nullable(),
  before: text.optional(),
  no_picture: text.optional(),
})
const acted = z.object({ by: text, at: text, text: text.optional() })
const proved = z.looseObject({
  settled: z.boolean(),
  revision: z.int().nullable(),
  asked: lines,
  also_changed: lines,
  difference: z.object({ uri: text, share: z.number(), box: box.nullable() }).optional(),
})

/** What a note is when it is made. */
export type AddedNote = z.infer<typeof added>

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
      ...parsed(name, files.get(name), acted),
      ...(next === null && { late: true }),
      ...(action === 'answer' &&
        proof !== undefined && { proof: parsed(name, proof, proved) as NoteProof }),
    })
  }
  const { id, ...rest } = parsed(addFile, files.get(addFile), added)
  return { id, number, state, ...rest, entries }
}

function parsed<Value>(
  name: string,
  data: string | Uint8Array | undefined,
  schema: z.ZodType<Value>,
): Value {
  const json = parseJson(String(data === undefined ? '' : Buffer.from(data)), maxJsonDepth)
  const checked = schema.safeParse(json.ok ? json.value : undefined)
  if (checked.success) return checked.data
  throw new Error(`${name} is damaged: ${json.ok ? firstIssue(checked.error) : 'it is not JSON'}`)
}

const exported = z.object({
  number: z.int().min(1),
  files: z.record(z.string().regex(keptName, 'is not the name of a file of a note'), z.unknown()),
})

/** A note with its proofs and pictures as JSON: pictures are base64. */
export function exportedNote(number: number, files: NoteFiles): JsonObject {
  const entries = Array.from(files, ([name, data]) => {
    const bytes = Buffer.from(data)
    return [name, isJson(name) ? parseExact(String(bytes)) : bytes.toString('base64')]
  })
  return { number, files: Object.fromEntries(entries) }
}

/**
 * The files of a note that `exportedNote` made, without the name of a scene that its server kept.
 * Throws `body_invalid`.
 */
export function importedNote(value: unknown): { id: string; number: number; files: NoteFiles } {
  try {
    const { number, files: given } = exported.parse(value)
    const files = new Map<string, string | Uint8Array>()
    for (const [name, content] of Object.entries(given)) {
      const file =
        name === addFile && isJsonObject(content) ? { ...content, checkpoint: null } : content
      const data = isJson(name) ? JSON.stringify(file) : Buffer.from(String(file), 'base64')
      if (Buffer.byteLength(data) > (isJson(name) ? maxJsonBytes : maxPictureBytes)) {
        throw new Error(`${name} is too large`)
      }
      files.set(name, data)
    }
    return { id: noteOf(number, files).id, number, files }
  } catch (error) {
    const reason =
      error instanceof z.ZodError ? firstIssue(error) : String((error as Error).message)
    throw new ServiceError('body_invalid', `this is no exported note: ${reason}`)
  }
}

function isJson(name: string): boolean {
  return name.endsWith('.json')
}
