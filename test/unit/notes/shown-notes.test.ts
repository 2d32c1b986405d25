import { expect } from 'chai'
import type { NoteState } from '../../../src/server/notes/note.ts'
import { fittingNotes } from '../../../src/server/notes/notes.ts'

const note = (number: number, state: NoteState, text = 'x'.repeat(100)) => ({ number, state, text })
const bytes = (notes: readonly object[]) => Buffer.byteLength(JSON.stringify(notes))
const numbers = (notes: readonly { number: number }[]) => notes.map(each => each.number)

describe('fittingNotes', () => {
  it('leaves settled notes out before those that wait, the oldest first', () => {
    const states: NoteState[] = ['open', 'closed', 'answered', 'accepted', 'reopened', 'closed']
    const notes = states.map((state, at) => note(at + 1, state))
    const shown = (count: number) => {
      const fits = bytes(notes) - count * 140
      return numbers(fittingNotes(notes, fits))
    }
    expect(shown(0)).to.deep.equal([1, 2, 3, 4, 5, 6])
    expect(shown(1)).to.deep.equal([1, 3, 4, 5, 6])
    expect(shown(2)).to.deep.equal([1, 3, 5, 6])
    expect(shown(3)).to.deep.equal([1, 3, 5])
    expect(shown(4)).to.deep.equal([3, 5])
  })

  it('counts bytes of UTF-8, to the last one', () => {
    const notes = [note(1, 'open', 'ü'.repeat(500)), note(2, 'open', '日本'.repeat(500))]
    expect(numbers(fittingNotes(notes, bytes(notes)))).to.deep.equal([1, 2])
    expect(numbers(fittingNotes(notes, bytes(notes) - 1))).to.deep.equal([2])
    expect(fittingNotes(notes, 1000)).to.deep.equal([])
  })
})
