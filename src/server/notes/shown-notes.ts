import { isOpen, type Note } from './note.ts'

/**
 * Leaves notes out until the rest fits into so many bytes of JSON: settled ones first, of these and
 * of the open ones the oldest first. The order stays.
 */
export function fittingNotes<Shown extends Pick<Note, 'state'>>(
  notes: Shown[],
  maxBytes: number,
): readonly Shown[] {
  const sized = notes.map(note => ({ note, bytes: Buffer.byteLength(JSON.stringify(note)) + 1 }))
  let total = sized.reduce((sum, { bytes }) => sum + bytes, 1)
  const left = new Set<Shown>()
  for (const { note, bytes } of sized.toSorted((a, b) => rank(a.note) - rank(b.note))) {
    if (total <= maxBytes) break
    left.add(note)
    total -= bytes
  }
  return notes.filter(note => !left.has(note))
}

function rank(note: Pick<Note, 'state'>): number {
  return isOpen(note) ? 1 : 0
}
