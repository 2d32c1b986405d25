import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import type { Checkpoint } from '../../../src/server/checkpoints/checkpoint-store.ts'
import type { DocumentStores } from '../../../src/server/documents/document-stores.ts'
import { type NoteStore, writeNote } from '../../../src/server/notes/note-store.ts'
import type { Note } from '../../../src/server/notes/note.ts'
import { failureOf } from '../../helpers/failure.ts'
import { until } from '../../helpers/until.ts'

interface StoresUnderTest {
  readonly stores: DocumentStores
  /** The same stores as another process has them open. */
  again(): Promise<DocumentStores>
  /** Cuts the stored text of a note. */
  damage(document: string, id: string): Promise<void>
  remove(): Promise<void>
}

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

const checkpointOf = (name: string, second: number, of_note = false): Checkpoint => ({
  name,
  created_at: `2026-01-02T03:04:${String(second).padStart(2, '0')}.000Z`,
  by: 'ada',
  revision: 1,
  size: 10,
  stored_bytes: 5,
  ...(of_note && { of_note }),
})
const scene = Buffer.from([0, 1, 2, 0xff, 0xfe])

/** What every store of notes and checkpoints must do, whatever it is made of. */
export function describeDocumentStores(name: string, open: () => Promise<StoresUnderTest>): void {
  describe(`${name}, as a store of notes and checkpoints`, () => {
    let under: StoresUnderTest
    beforeEach(async () => (under = await open()))
    afterEach(() => under.remove())

    it('has no notes at first', async () => {
      expect(await under.stores.notes(shot).notes()).to.deep.equal([])
    })

    it('keeps notes of each document apart, by number, for every process', async () => {
      const notes = under.stores.notes(shot)
      // The ids are not in the order of the numbers.
      for (const id of [3, 1, 2]) await append(notes, idOf(id), '"\u{1f4a1}" \u2028 \\u0000')
      await append(under.stores.notes(other), idOf(9))
      const found = await (await under.again()).notes(shot).notes()
      expect(found.map(({ id, number }) => [id, number])).to.deep.equal([
        [idOf(3), 1],
        [idOf(1), 2],
        [idOf(2), 3],
      ])
      expect(found).to.deep.equal(await notes.notes())
      expect(found[0]).to.deep.equal(noteWith(idOf(3), 1, '"\u{1f4a1}" \u2028 \\u0000'))
    })

    it('writes one note after the other, however many processes write', async () => {
      const all = [under.stores, await under.again()].map(stores => stores.notes(shot))
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
      const notes = under.stores.notes(shot)
      await append(notes, idOf(1))
      const several = await notes.write(before =>
        [2, 3].map(number => noteWith(idOf(number), number + before.length)),
      )
      expect(several.map(({ number }) => number)).to.deep.equal([3, 4])
      const found = await (await under.again()).notes(shot).notes()
      expect(found).to.deep.equal([noteWith(idOf(1), 1), ...several])
      expect(notes.known).to.deep.equal(found)
    })

    it('replaces a note, and gives the identical ones that did not change', async () => {
      const notes = under.stores.notes(shot)
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

    it('writes nothing when the change is refused', async () => {
      const notes = under.stores.notes(shot)
      const refuse = () => {
        throw new ServiceError('limit_reached', 'refused')
      }
      expect((await failureOf(() => notes.write(refuse))).code).to.equal('limit_reached')
      expect(await notes.notes()).to.deep.equal([])
      await append(notes, idOf(1))
      expect(await notes.notes()).to.have.length(1)
    })

    it('notices what another process writes', async () => {
      const notes = under.stores.notes(shot)
      await append(notes, idOf(1))
      const far = (await under.again()).notes(shot)
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
      for (const id of [1, 2]) await append(under.stores.notes(shot), idOf(id))
      await under.damage(shot, idOf(1))
      const notes = (await under.again()).notes(shot)
      expect((await notes.notes()).map(({ id }) => id)).to.deep.equal([idOf(2)])
      expect(notes.damaged).to.deep.equal([idOf(1)])
    })

    it('keeps checkpoints of each document, the oldest first, for every process', async () => {
      const checkpoints = under.stores.checkpoints(shot)
      expect(await checkpoints.list()).to.deep.equal([])
      await checkpoints.add(checkpointOf('zebra', 1), scene)
      await checkpoints.add(checkpointOf('ape', 2), Buffer.from('ape'))
      await under.stores.checkpoints(other).add(checkpointOf('zebra', 3), Buffer.from('other'))
      const again = (await under.again()).checkpoints(shot)
      expect(await again.list()).to.deep.equal([checkpointOf('zebra', 1), checkpointOf('ape', 2)])
      expect((await again.read('zebra')).equals(scene)).to.equal(true)
    })

    it('gives a name to one checkpoint, however many processes want it', async () => {
      const all = [under.stores, await under.again()].map(stores => stores.checkpoints(shot))
      const added = await Promise.allSettled(
        all.map((each, at) => each.add(checkpointOf('one', at), Buffer.from([at]))),
      )
      const refused = added.flatMap(each => (each.status === 'rejected' ? [each.reason.code] : []))
      expect(refused).to.deep.equal(['name_taken'])
      expect(await all[0]?.list()).to.have.length(1)
    })

    it('removes a checkpoint, and then gives its name again', async () => {
      const checkpoints = under.stores.checkpoints(shot)
      await checkpoints.add(checkpointOf('one', 1), scene)
      expect(await checkpoints.remove('one')).to.equal(true)
      expect(await checkpoints.remove('one')).to.equal(false)
      const reading = checkpoints.read('one')
      expect(await reading.catch(() => 'nothing')).to.equal('nothing')
      await checkpoints.add(checkpointOf('one', 2), Buffer.from('new'))
      expect((await checkpoints.read('one')).toString()).to.equal('new')
    })

    it('makes room with checkpoints of notes, and refuses one more of a person', async () => {
      const checkpoints = under.stores.checkpoints(shot)
      await checkpoints.add(checkpointOf('note-00000001', 0, true), scene)
      for (let at = 0; at < 63; at++) await checkpoints.add(checkpointOf(`c${at}`, at % 60), scene)
      await checkpoints.add(checkpointOf('last', 59), scene)
      const names = (await checkpoints.list()).map(each => each.name)
      expect(names).to.have.length(64).and.include('last').and.not.include('note-00000001')
      const full = await failureOf(() => checkpoints.add(checkpointOf('more', 59), scene))
      expect(full.code).to.equal('limit_reached')
      expect(await checkpoints.list()).to.have.length(64)
    })
  })
}
