import { expect } from 'chai'
import files, { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { renameFile, replaceFile } from '../../../src/lib/util/replace-file.ts'
import { newFolder } from '../../helpers/cleanup.ts'

describe('replaceFile', () => {
  let folder: string
  let path: string

  beforeEach(() => {
    folder = newFolder()
    path = join(folder, 'a.txt')
  })
  afterEach(async () => {
    expect((await readdir(folder)).filter(name => name.endsWith('.tmp'))).to.deep.equal([])
  })

  const text = () => readFile(path, 'utf8')
  const mode = async () => (await stat(path)).mode & 0o777

  it('creates a private file and replaces it', async () => {
    expect(await replaceFile(path, 'one')).to.equal(true)
    expect([await text(), await mode()]).to.deep.equal(['one', 0o600])
    expect(await replaceFile(path, Buffer.from('two'))).to.equal(true)
    expect(await text()).to.equal('two')
  })

  it('keeps an existing file when it is exclusive', async () => {
    expect(await replaceFile(path, 'one', { exclusive: true })).to.equal(true)
    expect(await replaceFile(path, 'two', { exclusive: true })).to.equal(false)
    expect(await text()).to.equal('one')
  })

  it('gives a name to one of two files where there are no hard links, too', async () => {
    const { link } = files
    files.link = () => Promise.reject(Object.assign(new Error(), { code: 'EPERM' }))
    syncBuiltinESMExports()
    try {
      const texts = ['one', 'two']
      const isMade = await Promise.all(
        texts.map(each => replaceFile(path, each, { exclusive: true })),
      )
      expect(isMade.toSorted()).to.deep.equal([false, true])
      expect(await text()).to.equal(texts[isMade.indexOf(true)])
    } finally {
      files.link = link
      syncBuiltinESMExports()
    }
  })

  it('gives the new file the mode of another one', async () => {
    await writeFile(path, 'one', { mode: 0o640 })
    await replaceFile(path, 'two', { access: await stat(path) })
    expect([await text(), await mode()]).to.deep.equal(['two', 0o640])
  })
})

describe('renameFile', () => {
  const held = (code: string) => Object.assign(new Error(code), { code, errno: -1 })
  /** A file system whose first renames fail; returns how often it was asked. */
  const attempts = async (codes: string[], platform: NodeJS.Platform) => {
    let count = 0
    const rename = async () => {
      const code = codes[count++]
      if (code !== undefined) throw held(code)
    }
    const failure = await renameFile('a', 'b', { rename, platform }).catch(error => error.code)
    return [count, failure]
  }

  it('tries again on Windows while another program has the file open', async () => {
    const codes = ['EPERM', 'EBUSY', 'EACCES', 'EPERM']
    expect(await attempts(codes, 'win32')).to.deep.equal([5, undefined])
    expect(await attempts(['EBUSY', 'ENOENT'], 'win32')).to.deep.equal([2, 'ENOENT'])
  })

  it('fails at once on other systems', async () => {
    expect(await attempts(['EPERM'], 'linux')).to.deep.equal([1, 'EPERM'])
  })
})
