import { expect } from 'chai'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Checkpoints } from '../../../src/server/checkpoints/checkpoints.ts'
import { DocumentFolder } from '../../../src/server/checkpoints/document-folder.ts'
import { failureOf } from '../../helpers/failure.ts'

describe('the folder of checkpoints', () => {
  let root: string
  beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'checkpoints-'))))
  afterEach(() => rm(root, { recursive: true, force: true }))

  /** As another process has it open. */
  const open = (text = '{"objects":[]}') =>
    new Checkpoints({
      document: () => new DocumentFolder(join(root, 'shot')),
      scene: async () => ({ revision: 1, text, unconfirmed: {} }),
    })
  const by = 'ada'

  it('gives a name to one checkpoint, however many processes want it', async () => {
    const all = [open('{"at":1}'), open('{"at":2}')]
    const added = await Promise.allSettled(all.map(each => each.add({ name: 'one', by })))
    const refused = added.flatMap(each => (each.status === 'rejected' ? [each.reason.code] : []))
    expect(refused).to.deep.equal(['name_taken'])
    expect(await all[0]?.list()).to.have.length(1)
  })

  it('makes room with checkpoints of notes, and refuses one more of a person', async () => {
    const checkpoints = open()
    await checkpoints.add({ name: 'note-00000001', by, ofNote: true })
    for (let at = 0; at < 63; at++) await checkpoints.add({ name: `c${at}`, by })
    await checkpoints.add({ name: 'last', by })
    const names = (await checkpoints.list()).map(each => each.name)
    expect(names).to.have.length(64).and.include('last').and.not.include('note-00000001')
    const full = await failureOf(() => checkpoints.add({ name: 'more', by }))
    expect(full.code).to.equal('limit_reached')
    expect(await checkpoints.list()).to.have.length(64)
  })

  it('gives no name away while the facts of its checkpoint cannot be read', async () => {
    const checkpoints = open('{"first":1}')
    const checkpoint = await checkpoints.add({ name: 'one', by })
    const folder = join(root, 'shot/checkpoints')
    const [key = ''] = await readdir(folder)
    const file = join(folder, key, 'facts.json')
    const text = await readFile(file)
    await writeFile(file, '{')
    expect(await checkpoints.list()).to.deep.equal([])
    const again = await failureOf(() => open('{"second":1}').add({ name: 'one', by }))
    expect(again.code).to.equal('name_taken')
    await writeFile(file, text)
    expect(await checkpoints.list()).to.deep.equal([checkpoint])
    expect(await checkpoints.find('one')).to.equal('{"first":1}')
  })
})
