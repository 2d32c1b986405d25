import { expect } from 'chai'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isCheckpointName } from '../../../src/lib/host-link/messages.ts'
import { Checkpoints, checkpointsToEvict } from '../../../src/server/checkpoints/checkpoints.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { failureOf } from '../../helpers/failure.ts'
import { DocumentFolder } from '../../../src/server/checkpoints/document-folder.ts'

const MiB = 1024 * 1024

function kept(count: number, stored_bytes: number, of_note = false) {
  const prefix = of_note ? 'note' : 'own'
  return Array.from({ length: count }, (_, at) => ({
    name: `${prefix}-${at}`,
    stored_bytes,
    ...(of_note && { of_note }),
  }))
}

const namesOf = (gone: readonly { readonly name: string }[]) => gone.map(({ name }) => name)

describe('what leaves to make room for a checkpoint', () => {
  it('is nothing while there is room', () => {
    expect(checkpointsToEvict(kept(63, MiB), MiB)).to.deep.equal([])
    expect(checkpointsToEvict(kept(1, 128 * MiB), 128 * MiB)).to.deep.equal([])
  })

  it('is as many of notes as the new bytes need, beyond 256 MiB', () => {
    const gone = checkpointsToEvict([...kept(1, 100 * MiB), ...kept(3, 50 * MiB, true)], 60 * MiB)
    expect(namesOf(gone)).to.deep.equal(['note-0', 'note-1'])
  })

  it('is never one that a person made: then there is no room', () => {
    const none = () => checkpointsToEvict(kept(64, 1), 1)
    expect(none).to.throw('a document has at most 64 checkpoints and 256 MiB')
    expect(() => checkpointsToEvict(kept(1, 256 * MiB), 1)).to.throw('256 MiB')
    expect(() => checkpointsToEvict([...kept(64, 1), ...kept(1, 1, true)], 1)).to.throw(
      '64 checkpoints',
    )
  })
})

it('a folder of a document reads no larger file than is meant, and says when it cannot write', async () => {
  const root = newFolder()
  const folder = new DocumentFolder(join(root, 'shot'))
  await folder.make()
  expect(await folder.create('one', 'text')).to.equal(true)
  expect(String(await folder.read('one', 4))).to.equal('text')
  const larger = await folder.read('one', 3).catch((error: Error) => error.message)
  expect(larger).to.match(/one is no file of at most 3 bytes$/)
  const nowhere = new DocumentFolder('/dev/null')
  expect((await failureOf(() => nowhere.create('one', ''))).code).to.equal('storage_failed')
  await rm(root, { recursive: true })
})

describe('the name of a checkpoint', () => {
  const table: [name: string, isName: boolean][] = [
    ['before-lights', true],
    ['Füße 2.1', true],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['12', false],
    ['a ', false],
    ['a/b', false],
    ['a\nb', false],
  ]
  it('is one line of text, and no number', () => {
    for (const [name, isName] of table) {
      expect(isCheckpointName(name), JSON.stringify(name)).to.equal(isName)
    }
  })
})

it('a checkpoint is made once under its name, however many processes want it', async () => {
  const root = newFolder()
  const all = ['{"at":1}', '{"at":2}'].map(text => {
    const document = () => new DocumentFolder(join(root, 'shot'))
    return new Checkpoints({
      document,
      scene: async () => ({ revision: 1, text, unconfirmed: {} }),
    })
  })
  const added = await Promise.allSettled(all.map(each => each.add({ name: 'one', by: 'ada' })))
  const refused = added.flatMap(each => (each.status === 'rejected' ? [each.reason.code] : []))
  expect(refused).to.deep.equal(['name_taken'])
  const one = all[0]!
  expect(await one.list()).to.have.length(1)
  // A document that is saved elsewhere a second time keeps what is there.
  const [shot, other] = [
    new DocumentFolder(join(root, 'shot')),
    new DocumentFolder(join(root, 'x')),
  ]
  for (const _ of [1, 2]) await one.copy(shot, other)
  expect(await one.list(other)).to.deep.equal(await one.list(shot))
  // Nor is it given away while its files cannot be read.
  const folder = join(root, 'shot/checkpoints')
  const [key = ''] = await readdir(folder)
  for (const name of ['facts.json', 'scene.gz']) await writeFile(join(folder, key, name), '{')
  expect(await one.list()).to.deep.equal([])
  expect((await failureOf(() => one.add({ name: 'one', by: 'ada' }))).code).to.equal('name_taken')
  const unread = await failureOf(() => one.find('one'))
  expect(unread.message).to.match(/^checkpoint "one" cannot be read: /)
  await rm(root, { recursive: true })
})
