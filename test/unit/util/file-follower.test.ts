import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { FileFollower } from '../../../src/lib/util/file-follower.ts'
import { newFolder } from '../../helpers/cleanup.ts'

describe('FileFollower', () => {
  let folder: string
  let path: string
  let reads: number
  let result: boolean
  let follower: FileFollower
  beforeEach(() => {
    folder = newFolder()
    path = join(folder, 'a')
    reads = 0
    result = true
    follower = new FileFollower(path)
  })

  const look = async () => {
    await follower.look(async () => {
      reads++
      return result
    })
    return reads
  }

  it('reads a file once, and again when it is replaced, removed and back', async () => {
    await writeFile(path, 'one')
    expect(follower.isUnchanged()).to.equal(false)
    expect([await look(), await look()]).to.deep.equal([1, 1])
    expect(follower.isUnchanged()).to.equal(true)
    await writeFile(`${path}.new`, 'two')
    await rename(`${path}.new`, path)
    expect([await look(), await look()]).to.deep.equal([2, 2])
    await rm(path)
    expect(follower.isUnchanged()).to.equal(false)
    expect([await look(), await look()]).to.deep.equal([3, 3])
    await writeFile(path, 'two')
    expect(await look()).to.equal(4)
  })

  it('reads an unchanged file again after a failure', async () => {
    await writeFile(path, 'one')
    result = false
    expect([await look(), await look()]).to.deep.equal([1, 2])
    const failed = await follower
      .look(() => Promise.reject(new Error('no')))
      .catch((error: Error) => error.message)
    expect(failed).to.equal('no')
    result = true
    expect([await look(), await look()]).to.deep.equal([3, 3])
  })

  it('sees for each caller what was written before the call', async () => {
    const texts: string[] = []
    await writeFile(path, 'one')
    const reading = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    const early = follower.look(async () => {
      texts.push(await readFile(path, 'utf8'))
      reading.resolve()
      await written.promise
      return true
    })
    await reading.promise
    await writeFile(path, 'two')
    const late = follower.look(async () => {
      texts.push(await readFile(path, 'utf8'))
      return true
    })
    written.resolve()
    await Promise.all([early, late])
    expect(texts).to.deep.equal(['one', 'two'])
  })
})
