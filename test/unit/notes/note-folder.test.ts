import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { NoteFolder } from '../../../src/server/notes/note-folder.ts'
import { type NoteStore, writeNote } from '../../../src/server/notes/note-store.ts'
import type { Note } from '../../../src/server/notes/note.ts'
import { until } from '../../helpers/until.ts'

const shot = 'a'.repeat(32)
const other = 'b'.repeat(32)

const noteWith = (id: string, number: number, text = 'Too bright'): Note => ({
  id,
  number,
  state: 'open',
  text,
  author: 'ada',
  created_at: '2026-01-02T03:04:05.678Z',
  targets: [],
  revision: null,
  checkpoint: null,
  entries: [],
})
const idOf = (number: number) => number.toString(16).padStart(8, '0')
const append = (store: NoteStore, id: string, text?: string) =>
  writeNote(store, notes => noteWith(id, (notes.at(-1)?.number ?? 0) + 1, text))

describe('NoteFolder', () => {
  let root: string
  beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'notes-'))))
  afterEach(() => rm(root, { recursive: true, force: true }))

  /** As another process has it open. */
  const open = (document: string) => new NoteFolder(join(root, document, 'notes'), silentLogger)

  it('keeps notes of each document apart, by number, for every process', async () => {
    const notes = open(shot)
    expect(await notes.notes()).to.deep.equal([])
    // The ids are not in the order of the numbers.
    for (const id of [3, 1, 2]) await append(notes, idOf(id), '"\u{1f4a1}" \u2028 \\u0000')
    await append(open(other), idOf(9))
    const found = await open(shot).notes()
    expect(found.map(({ id, number }) => [id, number])).to.deep.equal([
      [idOf(3), 1],
      [idOf(1), 2],
      [idOf(2), 3],
    ])
    expect(found).to.deep.equal(await notes.notes())
    expect(found[0]).to.deep.equal(noteWith(idOf(3), 1, '"\u{1f4a1}" \u2028 \\u0000'))
  })

  it('writes one note after the other, however many processes write', async () => {
    const all = [open(shot), open(shot)]
    const writes = Array.from({ length: 10 }, (_, at) =>
      all.map((notes, by) => append(notes, idOf(16 * at + by))),
    )
    await Promise.all(writes.flat())
    for (const notes of all) {
      const numbers = (await notes.notes()).map(({ number }) => number)
      expect(numbers).to.deep.equal(Array.from({ length: 20 }, (_, at) => at + 1))
    }
  })

  it('replaces a note, and gives the identical ones that did not change', async () => {
    const notes = open(shot)
    await append(notes, idOf(1))
    await append(notes, idOf(2))
    const [first, second] = await notes.notes()
    const changed = await writeNote(notes, ([one]) => ({ ...(one as Note), state: 'closed' }))
    expect(changed.state).to.equal('closed')
    const now = await notes.notes()
    expect(now).to.have.length(2)
    expect(now[0]?.state).to.equal('closed')
    expect(now[0]).to.not.equal(first)
    expect(now[1]).to.equal(second)
    expect(notes.known).to.deep.equal(now)
  })

  it('notices what another process writes', async () => {
    const notes = open(shot)
    await append(notes, idOf(1))
    const far = open(shot)
    await until(async () => {
      await notes.notes()
      return notes.isUnchanged
    }, 'no more changes')
    await append(far, idOf(2))
    await until(() => !notes.isUnchanged, 'the change')
    const before = notes.known
    const changed = (await notes.notes()).filter(note => !before.includes(note))
    expect(changed.map(({ id }) => id)).to.deep.equal([idOf(2)])
  })
})
