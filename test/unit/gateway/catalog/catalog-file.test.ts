import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
import type { CatalogState } from '../../../../src/server/gateway/catalog/catalog-resources.ts'
import { CatalogFile } from '../../../../src/server/gateway/catalog/catalog-file.ts'
import { defaultGatewayLimits } from '../../../../src/lib/config/gateway-limits.ts'
import { ManualTime } from '../../resources/manual-time.ts'

const catalogOf = (...names: string[]) =>
  JSON.stringify({ schema_version: 1, entries: names.map(name => ({ name, description: 'd' })) })

const namesIn = ({ entries }: CatalogState) => entries.map(({ name }) => name)

describe('CatalogFile', () => {
  let folder: string
  let path: string
  let time: ManualTime
  let warnings: object[]
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'catalog-'))
    path = join(folder, 'catalog.json')
    time = new ManualTime()
    warnings = []
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const open = (limits = {}) =>
    CatalogFile.open({
      path,
      source: 'file',
      limits: { ...defaultGatewayLimits, ...limits },
      timer: time,
      log: { debug() {}, info() {}, error() {}, warn: fields => warnings.push(fields) },
    })

  /** As an editor does: readers see the old file or the new one. */
  async function replace(text: string): Promise<void> {
    await writeFile(`${path}.new`, text)
    await rename(`${path}.new`, path)
  }

  const refusals: [what: string, write: () => Promise<unknown>, reason: string][] = [
    ['is not there', async () => {}, 'it cannot be read: no such file'],
    ['is empty', () => writeFile(path, ''), 'it is empty'],
    ['is no text', () => writeFile(path, Buffer.of(0xff, 0xfe)), 'it is not valid UTF-8'],
    ['is no catalog', () => writeFile(path, '{}'), 'member schema_version: is required'],
    ['is too large', () => writeFile(path, 'x'.repeat(101)), 'it is larger than 100 bytes'],
  ]
  for (const [what, write, reason] of refusals) {
    it(`is not opened when the file ${what}`, async () => {
      await write()
      const error = await open({ maxCatalogBytes: 100 }).catch(cause => cause)
      expect(error).to.be.instanceOf(ServiceError)
      expect(error).to.include({ code: 'config_invalid' })
      expect(error.message).to.include(path).and.include(reason)
    })
  }

  it('has the entries of the file', async () => {
    await writeFile(path, `\ufeff${catalogOf('a', 'b')}`)
    const file = await open()
    expect(file).to.include({ source: 'file' })
    expect(namesIn(file.state)).to.deep.equal(['a', 'b'])
    expect(file.state.problem).to.equal(null)
  })

  it('stays the same object as long as the file says the same', async () => {
    await replace(catalogOf('a'))
    const file = await open()
    const before = file.state
    expect(await file.refresh()).to.equal(before)
    await utimes(path, new Date(0), new Date(0))
    expect(await file.refresh()).to.equal(before)
    await replace(catalogOf('a'))
    expect(await file.refresh()).to.equal(before)
  })

  it('is read again when the file changed', async () => {
    await replace(catalogOf('a'))
    const file = await open()
    await replace(catalogOf('a', 'b'))
    const now = await file.refresh()
    expect(namesIn(now)).to.deep.equal(['a', 'b'])
    expect(file.state).to.equal(now)
  })

  it('keeps its entries while the file is broken or away, says why, and recovers', async () => {
    await replace(catalogOf('a'))
    const file = await open()
    await replace('{"schema_version":1,"entries":[{"name":"b"}]}')
    for (let again = 0; again < 3; again++) {
      const broken = await file.refresh()
      expect(namesIn(broken)).to.deep.equal(['a'])
      expect(broken.problem).to.equal('entry 1 ("b"): member description: is required')
    }
    expect(warnings).to.have.length(1)
    await rm(path)
    expect(await file.refresh()).to.include({ problem: 'it cannot be read: no such file' })
    await replace(catalogOf('a'))
    const good = await file.refresh()
    expect(namesIn(good)).to.deep.equal(['a'])
    expect(good.problem).to.equal(null)
    await replace(catalogOf('c'))
    expect(namesIn(await file.refresh())).to.deep.equal(['c'])
    expect(warnings).to.have.length(2)
  })

  it('looks once for all who ask at the same time', async () => {
    await replace(catalogOf('a'))
    const file = await open()
    await replace(catalogOf('b'))
    const [first, second] = await Promise.all([file.refresh(), file.refresh()])
    expect(second).to.equal(first)
    expect(namesIn(first)).to.deep.equal(['b'])
    await replace(catalogOf('c'))
    expect(namesIn(await file.refresh())).to.deep.equal(['c'])
  })

  it('tells its follower of each other state, seen by a look or by a reader, until stopped', async () => {
    await replace(catalogOf('a'))
    const file = await open()
    const told: string[][] = []
    let heard = Promise.withResolvers<void>()
    const stop = file.follow((before, now) => {
      told.push([...namesIn(before), ...namesIn(now)])
      heard.resolve()
    })
    const look = async () => {
      heard = Promise.withResolvers()
      time.advance(defaultGatewayLimits.catalogPollMs)
      await heard.promise
      await untilWaiting(time)
    }
    await replace(catalogOf('b'))
    await look()
    await replace(catalogOf('c'))
    await file.refresh()
    await look()
    expect(told).to.deep.equal([
      ['a', 'b'],
      ['b', 'c'],
    ])
    stop()
    expect(time.waiting).to.equal(0)
  })

  it('tells nothing of a look that ends after the stop', async () => {
    await replace(catalogOf('a'))
    const file = await open()
    const told: unknown[] = []
    const stop = file.follow(() => told.push(1))
    await replace(catalogOf('b'))
    time.advance(defaultGatewayLimits.catalogPollMs)
    stop()
    expect(namesIn(await file.refresh())).to.deep.equal(['b'])
    await new Promise(setImmediate)
    expect(told).to.deep.equal([])
    expect(time.waiting).to.equal(0)
  })
})

/** The next look is put on the clock a moment after the follower heard. */
async function untilWaiting(time: ManualTime): Promise<void> {
  for (let turn = 0; turn < 1000 && time.waiting === 0; turn++) await new Promise(setImmediate)
  expect(time.waiting).to.equal(1)
}
