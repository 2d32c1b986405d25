import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { listRecords } from '../../../src/server/gateway/record-folder.ts'

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
