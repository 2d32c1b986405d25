import { expect } from 'chai'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { NoteFolder } from '../../../src/server/notes/note-folder.ts'
import type { Note } from '../../../src/server/notes/note.ts'
import { failureOf } from '../../helpers/failure.ts'
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
const append = (folder: NoteFolder, id: string, text?: string) =>
  folder.writeOne(notes => noteWith(id, (notes.at(-1)?.number ?? 0) + 1, text))

describe('NoteFolder', () => {
  let root: string
  beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'notes-'))))
  afterEach(() => rm(root, { recursive: true, force: true }))

  /** As another process has it open. */
  const open = (document: string) => new NoteFolder(join(root, document, 'notes'), silentLogger)

  it('has no notes at first', async () => {
    expect(await open(shot).notes()).to.deep.equal([])
  })

  it('keeps notes of each document apart, by number, for every process', async () => {
    const notes = open(shot)
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

  it('writes several notes at once', async () => {
    const notes = open(shot)
    await append(notes, idOf(1))
    const several = await notes.write(before =>
      [2, 3].map(number => noteWith(idOf(number), number + before.length)),
    )
    expect(several.map(({ number }) => number)).to.deep.equal([3, 4])
    const found = await open(shot).notes()
    expect(found).to.deep.equal([noteWith(idOf(1), 1), ...several])
    expect(notes.known).to.deep.equal(found)
  })

  it('replaces a note, and gives the identical ones that did not change', async () => {
    const notes = open(shot)
    await append(notes, idOf(1))
    await append(notes, idOf(2))
    const [first, second] = await notes.notes()
    const changed = await notes.writeOne(([one]) => ({ ...(one as Note), state: 'closed' }))
    expect(changed.state).to.equal('closed')
    const now = await notes.notes()
    expect(now).to.have.length(2)
    expect(now[0]?.state).to.equal('closed')
    expect(now[0]).to.not.equal(first)
    expect(now[1]).to.equal(second)
    expect(notes.known).to.deep.equal(now)
  })

  it('writes nothing when the change is refused', async () => {
    const notes = open(shot)
    const refuse = () => {
      throw new ServiceError('limit_reached', 'refused')
    }
    expect((await failureOf(() => notes.write(refuse))).code).to.equal('limit_reached')
    expect(await notes.notes()).to.deep.equal([])
    await append(notes, idOf(1))
    expect(await notes.notes()).to.have.length(1)
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

  it('leaves a damaged note out, and loses no other', async () => {
    for (const id of [1, 2]) await append(open(shot), idOf(id))
    await writeFile(join(root, shot, 'notes', `${idOf(1)}.json`), '{"id":')
    const notes = open(shot)
    expect((await notes.notes()).map(({ id }) => id)).to.deep.equal([idOf(2)])
    expect(notes.damaged).to.deep.equal([idOf(1)])
  })
})
