import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { indexObjects } from '../../../src/server/checkpoints/compare-scenes.ts'
import {
  nextState,
  noteActions,
  type NoteState,
  noteStates,
  targetsNow,
} from '../../../src/server/notes/note.ts'
import { fittingNotes } from '../../../src/server/notes/notes.ts'

/** The table of docs/resources.md: `from action to`. */
async function documented(): Promise<string[]> {
  const page = await readFile(new URL('../../../docs/resources.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| (`[^|]*`) \| ([a-z]+) \| `([a-z]+)` \|/gm)]
  return rows.flatMap(([, from = '', action, to]) =>
    [...from.matchAll(/`([a-z]+)`/g)].map(([, state]) => `${state} ${action} ${to}`),
  )
}

describe('the states of a note', () => {
  it('change as the table of the documentation says, and in no other way', async () => {
    const steps = noteStates.flatMap(state =>
      noteActions.flatMap(action => {
        const to = nextState(state, action)
        return to === null ? [] : [`${state} ${action} ${to}`]
      }),
    )
    expect(steps).to.have.members(await documented())
  })

  it('are settled by a person alone: no answer leads to accepted or closed', () => {
    for (const state of noteStates) {
      expect(nextState(state, 'answer')).to.be.oneOf(['answered', null])
    }
    for (const state of ['accepted', 'closed'] as const) {
      expect(nextState(state, 'answer')).to.equal(null)
    }
  })
})

describe('the objects of a note', () => {
  const target = { id: '4', name: 'Cube', uid: 'r.1' }
  const now = (id: string, name: string, uid: string) =>
    targetsNow([target], indexObjects([{ id, name, uid }]), false)

  it('have the id of now', () => {
    expect(now('9', 'Cube', 'r.1')).to.deep.equal([{ ...target, id: '9' }])
    expect(now('9', 'Box', 'r.1')).to.deep.equal([{ ...target, id: '9', name: 'Box', was: 'Cube' }])
  })

  it('are gone when another one has their id and name', () => {
    expect(now('4', 'Cube', 'r.2')).to.deep.equal([{ ...target, gone: true }])
  })

  it('are known by id, else by name, in another run of the application', () => {
    expect(now('4', 'Box', 's.2')).to.deep.equal([{ ...target, name: 'Box', was: 'Cube' }])
    expect(now('9', 'Cube', 's.2')).to.deep.equal([{ ...target, id: '9' }])
    expect(now('9', 'Box', 's.2')).to.deep.equal([{ ...target, gone: true }])
  })
})

describe('notes that an application shows', () => {
  const note = (number: number, state: NoteState, text = 'x'.repeat(100)) => ({
    number,
    state,
    text,
  })
  const bytes = (notes: readonly object[]) => Buffer.byteLength(JSON.stringify(notes))
  const numbers = (notes: readonly { number: number }[]) => notes.map(each => each.number)

  it('leave settled ones out before those that wait, the oldest first', () => {
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

  it('fit by their bytes of UTF-8, to the last one', () => {
    const notes = [note(1, 'open', 'ü'.repeat(500)), note(2, 'open', '日本'.repeat(500))]
    expect(numbers(fittingNotes(notes, bytes(notes)))).to.deep.equal([1, 2])
    expect(numbers(fittingNotes(notes, bytes(notes) - 1))).to.deep.equal([2])
    expect(fittingNotes(notes, 1000)).to.deep.equal([])
  })
})
