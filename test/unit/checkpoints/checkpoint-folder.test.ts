import { expect } from 'chai'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Checkpoint,
  CheckpointFolder,
} from '../../../src/server/checkpoints/checkpoint-folder.ts'
import { DocumentFolder } from '../../../src/server/checkpoints/document-folder.ts'
import { failureOf } from '../../helpers/failure.ts'

const shot = 'a'.repeat(32)

const checkpointOf = (name: string, second: number, of_note = false): Checkpoint => ({
  name,
  created_at: `2026-01-02T03:04:${String(second).padStart(2, '0')}.000Z`,
  by: 'ada',
  size: 10,
  stored_bytes: 5,
  ...(of_note && { of_note }),
})
const scene = Buffer.from([0, 1, 2, 0xff, 0xfe])

describe('CheckpointFolder', () => {
  let root: string
  beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'checkpoints-'))))
  afterEach(() => rm(root, { recursive: true, force: true }))

  /** As another process has it open. */
  const open = (document: string) =>
    new CheckpointFolder(new DocumentFolder(root).folder(document).folder('checkpoints'))

  it('gives a name to one checkpoint, however many processes want it', async () => {
    const all = [open(shot), open(shot)]
    const added = await Promise.allSettled(
      all.map((each, at) => each.add(checkpointOf('one', at), Buffer.from([at]))),
    )
    const refused = added.flatMap(each => (each.status === 'rejected' ? [each.reason.code] : []))
    expect(refused).to.deep.equal(['name_taken'])
    expect(await all[0]?.list()).to.have.length(1)
  })

  it('makes room with checkpoints of notes, and refuses one more of a person', async () => {
    const checkpoints = open(shot)
    await checkpoints.add(checkpointOf('note-00000001', 0, true), scene)
    for (let at = 0; at < 63; at++) await checkpoints.add(checkpointOf(`c${at}`, at % 60), scene)
    await checkpoints.add(checkpointOf('last', 59), scene)
    const names = (await checkpoints.list()).map(each => each.name)
    expect(names).to.have.length(64).and.include('last').and.not.include('note-00000001')
    const full = await failureOf(() => checkpoints.add(checkpointOf('more', 59), scene))
    expect(full.code).to.equal('limit_reached')
    expect(await checkpoints.list()).to.have.length(64)
  })

  it('gives no name away while the facts of its checkpoint cannot be read', async () => {
    const store = open(shot)
    const checkpoint = checkpointOf('one', 5)
    await store.add(checkpoint, Buffer.from('first'))
    const folder = join(root, shot, 'checkpoints')
    const [file = ''] = (await readdir(folder)).filter(name => name.endsWith('.json'))
    const text = await readFile(join(folder, file))
    await writeFile(join(folder, file), '{')
    expect(await store.list()).to.deep.equal([])
    const again = await failureOf(() => store.add(checkpoint, Buffer.from('second')))
    expect(again.code).to.equal('name_taken')
    await writeFile(join(folder, file), text)
    expect(await store.list()).to.deep.equal([checkpoint])
    expect(String(await store.read('one'))).to.equal('first')
  })
})
