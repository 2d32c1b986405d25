import { expect } from 'chai'
import { join } from 'node:path'
import { isCheckpointName } from '../../../src/lib/host-link/messages.ts'
import { Checkpoints, checkpointsToEvict } from '../../../src/server/checkpoints/checkpoints.ts'
import { DocumentFolder } from '../../../src/server/checkpoints/document-folder.ts'
import { newFolder } from '../../helpers/cleanup.ts'

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
  expect(await all[0]?.list()).to.have.length(1)
})
