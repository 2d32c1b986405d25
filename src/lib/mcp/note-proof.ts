import { nothingFollowed } from './change-words.ts'
import { type Unconfirmed, unconfirmedLine } from './unconfirmed.ts'

/** Characters of what a person or an AI writes in a note, or in an answer to one. */
export const maxNoteTextChars = 4000

/** What the server itself saw after an answer to a note. Members have the same names on the wire. */
export interface NoteProof extends Unconfirmed {
  /** False: the scene was still changing, or a connected application did not confirm it. */
  readonly settled: boolean
  /** Of the scene that was compared; null: there was none. */
  readonly revision: number | null
  /** What changed in the objects of the note, in words; a line for each. Absent: it names none. */
  readonly asked?: readonly string[]
  /** All other changes. */
  readonly also_changed?: readonly string[]
  /** Lines that the lists leave out. */
  readonly more?: number
  /** There are more changes than are looked at. */
  readonly truncated?: boolean
  /** Why nothing is said of changes. */
  readonly no_changes?: string
  /** URI of the picture from the view of the note. */
  readonly after?: string
  readonly difference?: {
    readonly uri: string
    /** Of all pixels, 0 to 1. */
    readonly share: number
    readonly box: PixelBox | null
  }
  /** Why there is no picture. */
  readonly no_picture?: string
}

/** In pixels from the top left. */
export interface PixelBox {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** Said of objects that the note does not name: only those that it names are compared in detail. */
export const nothingListed =
  'nothing that the scene lists changed (places, names, parents, visibility, …); ' +
  'it may lack materials, lights and modifiers'

/** Said with the changes of such objects. */
export const comparedOnly =
  'of objects that the note does not name, only what the scene lists is compared: changes of ' +
  'materials, lights and modifiers may be missing'

/** What the server itself saw after the answer. Names are data from the document. */
export function proofLines(proof: NoteProof): readonly string[] {
  const { settled, no_changes } = proof
  const changes =
    no_changes === undefined ? changeLines(proof) : [`no changes are known: ${no_changes}`]
  const warning = unconfirmedLine(proof) ?? (settled ? null : 'the scene is still changing')
  return [...(warning === null ? [] : [warning]), ...changes, ...pictureLines(proof)]
}

function changeLines({ asked, also_changed: also = [], more = 0, truncated = false }: NoteProof) {
  const own =
    asked === undefined
      ? ['the note names no object']
      : listed('changed in the objects of the note:', asked, [
          `in the objects of the note ${nothingFollowed}`,
        ])
  const rest = more > 0 || truncated ? ['… there are more changes'] : []
  if (also.length === 0 && rest.length === 0) return [...own, `besides, ${nothingListed}`]
  return [...own, ...listed('other changes:', also, []), ...rest, comparedOnly]
}

function pictureLines({ after, difference, no_picture }: NoteProof): readonly string[] {
  if (no_picture !== undefined) return [`no picture: ${no_picture}`]
  if (after === undefined) return []
  if (difference === undefined) return [`picture from the view of the note: ${after}`]
  const { share, uri } = difference
  const percent = share === 0 ? 'no pixel' : `${(share * 100).toPrecision(2)} % of the pixels`
  return [`in the view of the note ${percent} changed: ${after}, ${uri}`]
}

function listed(what: string, lines: readonly string[], none: readonly string[]) {
  return lines.length === 0 ? none : [what, ...lines.map(line => `- ${line}`)]
}
