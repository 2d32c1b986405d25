import { expect } from 'chai'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NotePictures } from '../../../src/server/notes/note-pictures.ts'

describe('NotePictures', () => {
  let folder: string

  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'note-pictures-'))))
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('makes room with the oldest pictures of answers, then with the oldest of notes', async () => {
    const pictures = new NotePictures(folder, 50)
    let seconds = 0
    const save = async (id: string, name: string) => {
      await pictures.save(id, name, new Uint8Array(10))
      seconds++
      await utimes(join(folder, `${id}-${name}.png`), seconds, seconds)
    }
    await save('aaaaaaaa', 'before')
    await save('bbbbbbbb', 'before')
    for (let answer = 1; answer <= 20; answer++) await save('aaaaaaaa', `after-${answer}`)
    const kept = async () => (await readdir(folder)).toSorted()
    expect(await kept()).to.deep.equal([
      'aaaaaaaa-after-18.png',
      'aaaaaaaa-after-19.png',
      'aaaaaaaa-after-20.png',
      'aaaaaaaa-before.png',
      'bbbbbbbb-before.png',
    ])
    for (const id of ['cccccccc', 'dddddddd', 'eeeeeeee', 'ffffffff']) await save(id, 'before')
    const left = ['bbbbbbbb', 'cccccccc', 'dddddddd', 'eeeeeeee', 'ffffffff']
    expect(await kept()).to.deep.equal(left.map(id => `${id}-before.png`))
  })
})
