import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { failureOf } from '../../helpers/failure.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { recordingLog, settableClock } from '../../helpers/fakes.ts'
import { describeArtefactStore } from './store-suite.ts'
import {
  bodyPath,
  bytesHashedTo,
  bytesOf,
  hexOf,
  openFolder,
  sha256,
  useStores,
  writeOrphan,
} from './support.ts'

describeArtefactStore('a folder', useStores())

describe('artefacts in a folder', () => {
  it('have files that the owner alone may read, and leave no other behind', async () => {
    const folder = newFolder()
    const root = join(folder, 'new', 'root')
    const store = await openFolder(root, { limits: { maxArtefactBytes: 10 } })
    await store.put(Buffer.from('hello'))
    await failureOf(() => store.put(new Uint8Array(11)))
    const path = bodyPath(root, sha256(Buffer.from('hello')))
    expect(fs.statSync(root).mode & 0o777).to.equal(0o700)
    expect(fs.statSync(dirname(path)).mode & 0o777).to.equal(0o700)
    expect(fs.statSync(path).mode & 0o777).to.equal(0o600)
    expect(fs.statSync(`${path}.json`).mode & 0o777).to.equal(0o600)
    const files = fs.readdirSync(root, { recursive: true, withFileTypes: true })
    expect(files.filter(file => file.isFile())).to.have.length(2)
    await store.close()
  })

  it('are stored again after the folder was deleted', async () => {
    const folder = newFolder()
    const root = join(folder, 'state', 'artefacts')
    const store = await openFolder(root)
    await store.put(randomBytes(10))
    fs.rmSync(root, { recursive: true })
    const { ref } = await store.put(Buffer.from('one'))
    expect((await store.page(undefined, 10)).refs).to.deep.equal([ref])
    await store.close()
  })

  it('are hidden when their sidecar is invalid, which is logged once, and can be removed', async () => {
    const root = newFolder()
    const writer = await openFolder(root)
    const good = (await writer.put(bytesHashedTo('aa'))).ref
    const cases: ((ref: Record<string, unknown>) => string)[] = [
      () => '{"uri":',
      ref => JSON.stringify({ ...ref, digest: `sha256:${'0'.repeat(64)}` }),
      ref => JSON.stringify({ ...ref, mime: 'a/b\r\nX: y' }),
      ref => JSON.stringify({ ...ref, size_bytes: -1 }),
      ref =>
        JSON.stringify({ ...ref, metadata: 0 }).replace('"metadata":0', `"metadata":${deep(200)}`),
    ]
    const hashes: string[] = []
    for (const spoil of cases) {
      const { ref } = await writer.put(bytesHashedTo('aa'))
      fs.writeFileSync(`${bodyPath(root, hexOf(ref))}.json`, spoil({ ...ref }))
      hashes.push(hexOf(ref))
    }
    await writer.close()
    const log = recordingLog()
    const store = await openFolder(root, { log })
    for (let round = 0; round < 3; round++) {
      expect((await store.page(undefined, 100)).refs).to.deep.equal([good])
    }
    for (const hex of hashes) expect(await store.find(hex)).to.equal(null)
    for (const hex of hashes) expect(await store.remove(hex)).to.equal(true)
    const files = fs.readdirSync(root, { recursive: true, withFileTypes: true })
    expect(files.filter(file => file.isFile())).to.have.length(2)
    expect(log.lines.filter(line => line.level === 'warn')).to.have.length(cases.length)
    await store.close()
  })

  it('are not read through a symlink in place of a body, and not when they were cut', async () => {
    const root = newFolder()
    fs.writeFileSync(join(root, 'secret'), 'secret')
    const store = await openFolder(root)
    const linked = bodyPath(root, hexOf((await store.put(Buffer.from('secret'))).ref))
    fs.rmSync(linked)
    fs.symlinkSync(join(root, 'secret'), linked)
    const cut = hexOf((await store.put(randomBytes(100))).ref)
    fs.truncateSync(bodyPath(root, cut), 50)
    const codes = [sha256(Buffer.from('secret')), cut].map(
      async hex => (await failureOf(() => store.open(hex))).code,
    )
    expect(await Promise.all(codes)).to.deep.equal(['storage_failed', 'artefact_corrupt'])
    await store.close()
  })

  it('that another store of the same folder puts are seen at once, and told of by the timer', async () => {
    const root = newFolder()
    const [one, two] = [await openFolder(root), await openFolder(root)]
    const heard = new Promise<void>(resolve => two.onChange(resolve))
    for (let at = 0; at < 20; at++) {
      const { ref } = await one.put(bytesHashedTo('0'), { display_name: `n${at}` })
      expect(await two.find(hexOf(ref)), `find ${at}`).to.deep.equal(ref)
      expect((await two.page(undefined, 100)).refs, `page ${at}`).to.have.length(at + 1)
    }
    const bytes = bytesHashedTo('0')
    for (let at = 0; at < 10; at++) {
      const { ref } = await one.put(bytes, { display_name: `again${at}` })
      expect((await two.page(undefined, 100)).refs).to.deep.include(ref)
    }
    await one.remove(sha256(bytes))
    expect(await two.open(sha256(bytes))).to.equal(null)
    await two.refresh()
    expect((await two.page(undefined, 100)).refs).to.have.length(20)
    const { ref } = await one.put(randomBytes(8))
    await heard
    expect(await two.find(hexOf(ref))).to.deep.equal(ref)
    await Promise.all([one.close(), two.close()])
  })

  it('are neither removed nor evicted when another store renewed them', async () => {
    const root = newFolder()
    const clock = settableClock()
    const limits = { artefactTtlMs: 1000 }
    const one = await openFolder(root, { clock, limits })
    const two = await openFolder(root, { clock, limits, maxArtefacts: 2 })
    const old = randomBytes(8)
    await one.put(old)
    clock.advance(1)
    await one.put(randomBytes(8))
    await two.page(undefined, 9)
    clock.advance(998)
    expect((await one.put(old)).existed).to.equal(true)
    await two.put(randomBytes(8))
    expect(await one.find(sha256(old))).to.not.equal(null)
    clock.advance(1)
    await two.refresh()
    expect(await one.find(sha256(old))).to.not.equal(null)
    await Promise.all([one.close(), two.close()])
  })

  it('have the leftovers of killed processes removed after an hour, by a running server, too', async () => {
    const root = newFolder()
    const clock = settableClock(Date.now())
    const store = await openFolder(root, {}, clock)
    const kept = await store.put(bytesHashedTo('1'))
    const half = join(root, 'tmp', 'half')
    fs.writeFileSync(half, 'half')
    const leftovers = [half, writeOrphan(root, bytesHashedTo('1'))]
    // As a tool that copies files with their times.
    for (const path of leftovers) fs.utimesSync(path, 1, 1)
    const areThere = () => leftovers.map(path => fs.existsSync(path))
    clock.advance(3_590_000)
    await store.refresh()
    expect(areThere()).to.deep.equal([true, true])
    clock.advance(20_000)
    await store.refresh()
    expect(areThere()).to.deep.equal([false, false])
    expect((await store.page(undefined, 9)).refs).to.deep.equal([kept.ref])
    expect(await bytesOf(store, hexOf(kept.ref))).to.have.length(32)
    await store.close()
  })

  it('keep a body that was stored again when the sidecar before it is removed', async () => {
    const root = newFolder()
    const clock = settableClock()
    const store = await openFolder(root, { clock, limits: { artefactTtlMs: 1000 } })
    const bytes = Buffer.from('again')
    const path = bodyPath(root, hexOf((await store.put(bytes)).ref))
    await new Promise(resolve => setTimeout(resolve, 50))
    // As another process does in the middle of its put: its sidecar comes next.
    fs.writeFileSync(join(root, 'body'), bytes)
    fs.renameSync(join(root, 'body'), path)
    clock.advance(1001)
    await store.refresh()
    expect([fs.existsSync(path), fs.existsSync(`${path}.json`)]).to.deep.equal([true, false])
    await store.close()
  })
})

function deep(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels)
}
