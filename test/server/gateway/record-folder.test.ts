import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { FolderWatch, listRecords } from '../../../src/server/gateway/record-folder.ts'
import { until } from '../../e2e/until.ts'

describe('FolderWatch', () => {
  let base: string
  let folder: string
  let watch: FolderWatch
  let names: (string | null)[]
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'watch-'))
    folder = join(base, 'instances')
    names = []
    watch = new FolderWatch(folder, silentLogger, name => names.push(name))
  })
  afterEach(async () => {
    watch.close()
    await rm(base, { recursive: true, force: true })
  })

  async function hears(name: string): Promise<void> {
    await writeFile(join(folder, name), '')
    await until(() => names.includes(name), `${name} is heard of`)
  }

  it('hears of changes in a folder that is made later, removed and made again', async () => {
    expect(watch.check()).to.equal(null)
    await mkdir(folder, { mode: 0o700 })
    expect(watch.check()).to.equal(null)
    await hears('a.json')
    await rm(folder, { recursive: true })
    await mkdir(folder, { mode: 0o700 })
    watch.check()
    await hears('b.json')
  })

  it('hears of changes in a folder that took the place of another', async () => {
    await mkdir(folder, { mode: 0o700 })
    watch.check()
    await mkdir(`${folder}-new`, { mode: 0o700 })
    await rename(folder, `${folder}-old`)
    await rename(`${folder}-new`, folder)
    watch.check()
    await hears('a.json')
  })

  it('hears nothing once it is closed', async () => {
    await mkdir(folder, { mode: 0o700 })
    watch.check()
    await hears('a.json')
    watch.close()
    names = []
    await writeFile(join(folder, 'b.json'), '')
    await new Promise(resolve => setImmediate(resolve))
    expect(names).to.deep.equal([])
  })
})

describe('listRecords', () => {
  let folder: string
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'records-'))))
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('gives the names of records, as many as wanted, and says when there are more', async () => {
    for (const name of ['a.json', 'b.json', 'a.token', 'c.json.12.tmp']) {
      await writeFile(join(folder, name), '')
    }
    const list = (most: number) => {
      const listed = listRecords(folder, most)
      return listed.ok && [listed.value.names.toSorted(), listed.value.more]
    }
    expect(list(2)).to.deep.equal([['a.json', 'b.json'], false])
    expect(list(10)).to.deep.equal([['a.json', 'b.json'], false])
    const [names, more] = list(1) || []
    expect(names).to.have.length(1)
    expect(more).to.equal(true)
  })

  it('stops in a folder full of other things', async () => {
    for (let at = 0; at < 12; at++) await writeFile(join(folder, `${at}.token`), '')
    expect(listRecords(folder, 2)).to.deep.equal({ ok: true, value: { names: [], more: true } })
    expect(listRecords(folder, 3)).to.deep.equal({ ok: true, value: { names: [], more: false } })
  })

  it('finds none where there is no folder, and fails where it cannot look', async () => {
    const none = { ok: true, value: { names: [], more: false } }
    expect(listRecords(join(folder, 'none'), 2)).to.deep.equal(none)
    await writeFile(join(folder, 'file'), '')
    expect(listRecords(join(folder, 'file'), 2)).to.deep.equal({
      ok: false,
      failure: 'the folder cannot be read (ENOTDIR)',
    })
  })
})
