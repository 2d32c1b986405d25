import { expect } from 'chai'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { nothingFollowed } from '../../../src/lib/mcp/change-words.ts'
import { comparedOnly, nothingListed, proofLines } from '../../../src/lib/mcp/note-proof.ts'
import type { JsonObject } from '../../../src/lib/util/json.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { Checkpoints } from '../../../src/server/checkpoints/checkpoints.ts'
import { DocumentFolder } from '../../../src/server/checkpoints/document-folder.ts'
import type { Note } from '../../../src/server/notes/note.ts'
import { addFile } from '../../../src/server/notes/note-files.ts'
import { NoteFolder } from '../../../src/server/notes/note-folder.ts'
import { Notes } from '../../../src/server/notes/notes.ts'
import { type NoteCamera, Prover } from '../../../src/server/notes/prover.ts'
import type { Unconfirmed } from '../../../src/lib/mcp/unconfirmed.ts'
import type { FreshScene } from '../../../src/server/resources/scene/state.ts'
import { AuditLog } from '../../../src/server/resources/audit-log.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const target = { id: 'Cube', name: 'Cube' }
const open: Note = {
  id: '0123abcd',
  number: 1,
  state: 'open',
  text: 'Higher',
  author: 'ada',
  entries: [],
  created_at: '2026-01-01T00:00:00.000Z',
  targets: [target],
  checkpoint: null,
}

const png = Buffer.from('a picture')
const otherDocument = 'another document was opened meanwhile, or this one was saved elsewhere'

describe('Prover', () => {
  let home: string
  let folder: string
  let revision: number
  let height: number
  let unconfirmed: Unconfirmed
  /** Further ones of the object in the scene. */
  let members: JsonObject
  /** What the application tells of objects when it is asked. */
  let details: Map<string, JsonObject>
  /** What happens in each second that is waited. */
  let second: () => void
  /** What happens right after the scene was asked for. */
  let asked: () => void

  beforeEach(() => {
    home = newFolder()
    folder = join(home, 'document')
    revision = 1
    height = 0
    unconfirmed = {}
    members = {}
    details = new Map()
    second = () => {}
    asked = () => {}
  })

  const scene = async (): Promise<FreshScene> => {
    const object = { ...target, translate: [0, 0, height], ...members }
    const text = JSON.stringify({ objects: [object] })
    const fresh = { revision, text, unconfirmed }
    asked()
    return fresh
  }
  const rise = () => {
    height = revision++
  }
  const document = () => new DocumentFolder(folder)
  const notesIn = (path: string) => new NoteFolder(new DocumentFolder(path), silentLogger, () => {})
  const checkpoints = new Checkpoints({ document, scene })
  const prover = (camera: NoteCamera | null = null) =>
    new Prover({
      document,
      scene,
      checkpoints,
      camera,
      detail: async id => details.get(id) ?? null,
      timer: {
        after: (_ms, run) => {
          second()
          queueMicrotask(run)
          return () => {}
        },
      },
    })
  const checkpointsIn = (path: string) => checkpoints.list(new DocumentFolder(path))
  /** What is kept of a note of this document, as a server keeps it. */
  const made = async (proves: Prover, input: Partial<Note> = {}): Promise<Note> => {
    const notes = notesIn(folder)
    const note = { ...open, ...input }
    const { facts, files } = await proves.keep(document(), note.id, note)
    const added = Buffer.from(JSON.stringify({ ...note, ...facts }))
    await notes.add(note.id, new Map([...files, [addFile, added]]))
    return (await notes.notes()).find(({ id }) => id === note.id)!
  }

  it('waits until the scene is still', async () => {
    const proves = prover()
    const note = await made(proves)
    let changes = 0
    second = () => {
      if (++changes <= 3) rise()
    }
    const proof = await proves.prove(notesIn(folder), note, 1)
    expect(proof).to.deep.include({ settled: true, revision: 4, also_changed: [] })
    expect(proof.asked).to.deep.equal(['Cube moved 3.00 along z'])
  })

  it('says that the scene goes on changing', async () => {
    const proves = prover()
    const note = await made(proves)
    second = rise
    expect(await proves.prove(notesIn(folder), note, 1)).to.include({
      settled: false,
      revision: 11,
    })
  })

  it('waits for the application to confirm the scene, and says when it did not', async () => {
    const proves = prover()
    const note = await made(proves)
    unconfirmed = { as_of: '2026-03-04T05:06:07.250Z' }
    let seconds = 0
    second = () => {
      if (++seconds === 3) [unconfirmed] = [{}, rise()]
    }
    const late = await proves.prove(notesIn(folder), note, 1)
    expect(late).to.include({ settled: true }).and.not.have.property('as_of')
    expect(late.asked).to.deep.equal(['Cube moved 1.00 along z'])
    unconfirmed = { as_of: '2026-03-04T05:06:07.250Z' }
    const never = await proves.prove(notesIn(folder), note, 2)
    expect(never).to.include({ settled: false, as_of: '2026-03-04T05:06:07.250Z' })
    expect(proofLines(never)[0]).to.equal(
      'the application has not confirmed its scene since 2026-03-04T05:06:07.250Z; ' +
        'later changes may be missing',
    )
  })

  it('compares the scene that was settled, though the application is busy right after', async () => {
    const proves = prover()
    const note = await made(proves)
    second = () => {
      asked = () => ([unconfirmed] = [{ as_of: '2026-03-04T05:06:07.250Z' }, rise()])
    }
    const proof = await proves.prove(notesIn(folder), note, 1)
    expect(proof).to.deep.include({ settled: true, revision: 1, asked: [] })
    expect(proof).not.to.have.property('as_of')
  })

  it('tells nothing of a document that is opened while it waits, or takes the picture', async () => {
    let isOpened = false
    const openOther = () => void (folder = join(home, 'other'))
    const shot = async () => {
      if (isOpened) openOther()
      return { png, view: {} }
    }
    for (const camera of [null, { shot }]) {
      folder = join(home, 'document')
      isOpened = false
      second = () => {}
      const proves = prover(camera)
      const note = await made(proves, { id: camera === null ? open.id : '0123abce' })
      if (camera === null) second = openOther
      isOpened = true
      expect(await proves.prove(notesIn(folder), note, 1)).to.deep.equal({
        settled: true,
        revision: null,
        no_changes: otherDocument,
      })
    }
  })

  it('takes no object of a document that was opened while the picture was taken', async () => {
    const own = folder
    let uid = 'r.1'
    const shot = async () => {
      folder = join(home, 'other')
      uid = 'r.9'
      return { png, view: {} }
    }
    const notes = new Notes({
      shared: () => ({ document: null }),
      document,
      checkpoints,
      prover: prover({ shot }),
      audit: new AuditLog(),
      log: silentLogger,
    })
    notes.producer(() => ({ objects: [{ ...target, uid }], isPartial: false }))
    await notes.add({ text: 'Higher', author: 'ada', targets: [target], view: {} })
    const [note] = await notesIn(own).notes()
    expect(note?.targets).to.deep.equal([{ ...target, uid: 'r.1' }])
  })

  it('keeps nothing of a document that was opened while the picture was taken', async () => {
    const other = join(home, 'other')
    const proves = prover({
      shot: async () => {
        folder = other
        return { png, view: {} }
      },
    })
    const { checkpoint, before, no_picture } = await made(proves)
    expect({ checkpoint, before, no_picture }).to.deep.equal({
      checkpoint: null,
      before: undefined,
      no_picture: otherDocument,
    })
    expect(await checkpointsIn(join(home, 'document'))).to.deep.equal([])
    expect(await checkpointsIn(other)).to.deep.equal([])
  })

  it('loses no proof with what cannot be kept or read', async () => {
    const proves = prover({ shot: async () => ({ png, view: {} }) })
    const note = await made(proves)
    await rm(join(folder, 'notes'), { recursive: true })
    const checkpoints = join(folder, 'checkpoints')
    for (const file of await readdir(checkpoints, { recursive: true })) {
      if (file.endsWith('.gz')) await writeFile(join(checkpoints, file), gzipSync('{"objects"'))
    }
    rise()
    const { no_changes, no_picture } = await proves.prove(notesIn(folder), note, 1)
    expect(no_changes).to.be.a('string')
    expect(no_picture).to.include('the picture cannot be kept')
  })

  it('keeps no path of a folder that cannot be read', async () => {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'checkpoints'), 'no folder')
    expect(
      await prover().prove(notesIn(folder), { ...open, checkpoint: 'note-0123abcd' }, 1),
    ).to.include({ no_changes: 'the server could not do this; its log has the reason' })
  })

  describe('of what the scene does not list', () => {
    const red = { base: [1, 0, 0] }
    const told = (members: JsonObject) => details.set('Cube', { ...target, ...members })

    it('compares the objects of the note in detail', async () => {
      const proves = prover()
      told({
        translate: [0, 0, 0],
        energy: 1000,
        materials: [{ name: 'Paint', base: [0.5, 0.5, 0.5] }],
      })
      const note = await made(proves)
      told({ translate: [0, 0, 1], energy: 10, materials: [{ name: 'Paint', ...red }] })
      rise()
      const { asked, also_changed } = await proves.prove(notesIn(folder), note, 1)
      expect(asked?.join()).to.match(/^Cube moved 1.00 along z,Cube energy 1000 → 10, materials/)
      expect(asked?.join()).to.include('(0.5, 0.5, 0.5) → (1, 0, 0)')
      expect(also_changed).to.deep.equal([])
    })

    it('says of an equal detail only that it found no change of what it follows', async () => {
      const proves = prover()
      told({ energy: 1000, selected: true })
      const note = await made(proves)
      told({ energy: 1000 })
      const proof = await proves.prove(notesIn(folder), note, 1)
      expect(proof.asked).to.deep.equal([])
      expect(proofLines(proof)).to.deep.equal([
        `in the objects of the note ${nothingFollowed}`,
        `besides, ${nothingListed}`,
        'no picture: pictures are switched off',
      ])
    })

    it('finds the detail of an object under the name that it has now', async () => {
      const proves = prover()
      members = { uid: 'r.7' }
      told({ energy: 1000 })
      const note = await made(proves, { targets: [{ ...target, uid: 'r.7' }] })
      members = { ...members, id: 'Hero', name: 'Hero' }
      details.clear()
      details.set('Hero', { id: 'Hero', name: 'Hero', energy: 10 })
      expect((await proves.prove(notesIn(folder), note, 1)).asked).to.deep.equal([
        'Cube renamed Hero',
        'Hero energy 1000 → 10',
      ])
    })

    it('tells a move of an object that was selected meanwhile', async () => {
      const proves = prover()
      told({ active: false, matrix_world: [1, 0, 0, 0, 0] })
      const note = await made(proves)
      told({ active: true, matrix_world: [1, 0, 0, 0, 5] })
      expect((await proves.prove(notesIn(folder), note, 1)).asked?.join()).to.include(
        'matrix_world',
      )
    })
  })

  describe('of a note that was made by pointing', () => {
    const pin: [number, number] = [0.5, 0.25]
    const view = { matrix: [1] }
    const pointed = { targets: [], pin, view }

    it('is about the object that the application shows there', async () => {
      const asked: object[] = []
      const shot: NoteCamera['shot'] = async wish => {
        asked.push(wish)
        return { png, view: { ...view, under: target } }
      }
      const proves = prover({ shot })
      const note = await made(proves, pointed)
      expect(asked).to.deep.equal([{ view: { ...view, pin } }])
      expect(note).to.deep.include({ targets: [target], view })
      rise()
      expect((await proves.prove(notesIn(folder), note, 1)).asked).to.deep.equal([
        'Cube moved 1.00 along z',
      ])
    })

    it('says that it names no object where none is shown', async () => {
      const proves = prover({ shot: async () => ({ png, view }) })
      const note = await made(proves, pointed)
      expect(note.targets).to.deep.equal([])
      const still = proofLines(await proves.prove(notesIn(folder), note, 1))
      expect(still.slice(0, 2)).to.deep.equal([
        'the note names no object',
        `besides, ${nothingListed}`,
      ])
      rise()
      const moved = await proves.prove(notesIn(folder), note, 2)
      expect(moved).not.to.have.property('asked')
      expect(proofLines(moved).slice(0, 4)).to.deep.equal([
        'the note names no object',
        'other changes:',
        '- Cube moved 1.00 along z',
        comparedOnly,
      ])
    })
  })
})
