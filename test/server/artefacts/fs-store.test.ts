import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { defaultLimits, resolveLimits } from '../../../src/lib/config/limits.ts'
import { createFsStore, type FsStoreOptions } from '../../../src/server/artefacts/fs-store.ts'
import { ownMark } from '../../../src/server/artefacts/marks.ts'
import { artefactStoreSuite } from './store-suite.ts'
import { failureOf } from '../../helpers/failure.ts'
import {
  bytesHashedTo,
  collect,
  recordingLog,
  settableClock,
  sha256,
  withFolder,
} from './support.ts'

const limits = resolveLimits({ artefactPollMs: 0, artefactSweepMs: 0 })

function bodyPath(root: string, hex: string): string {
  return join(root, 'sha256', hex.slice(0, 2), hex)
}

function flipByte(path: string): void {
  const bytes = fs.readFileSync(path)
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1
  fs.writeFileSync(path, bytes)
}

/** Times in the past, as if the folder had been left alone for long: nothing counts as fresh. */
function age(root: string): void {
  const past = new Date(Date.now() - 3600_000)
  for (const shard of fs.readdirSync(join(root, 'sha256'))) {
    const dir = join(root, 'sha256', shard)
    for (const name of fs.readdirSync(dir)) fs.utimesSync(join(dir, name), past, past)
    fs.utimesSync(dir, past, past)
  }
}

function open(root: string, options: Partial<FsStoreOptions> = {}) {
  return createFsStore({ root, limits, ...options })
}

describe('filesystem artefact store', () => {
  it('tells that an artefact expired when it does, not at the next sweep', () =>
    withFolder(async root => {
      const limits = resolveLimits({ artefactPollMs: 0, artefactSweepMs: 3_600_000 })
      const store = await createFsStore({ root, limits })
      try {
        const expiresAt = new Date(Date.now() + 200)
        await store.put(Buffer.from('short-lived'), { expiresAt })
        await new Promise<void>(resolve => store.onChange(resolve))
        expect((await store.page(undefined, 10)).refs).to.deep.equal([])
      } finally {
        await store.close()
      }
    }))

  artefactStoreSuite(async ({ limits: given, clock }) => {
    const root = fs.mkdtempSync(join(tmpdir(), 'artefacts-'))
    const store = await createFsStore({ root, limits: given, clock })
    return {
      store,
      sweep: () => store.sweep(),
      damage: async hex => flipByte(bodyPath(root, hex)),
      dispose: async () => {
        await store.close()
        fs.rmSync(root, { recursive: true })
      },
    }
  })

  it('writes body and sidecar where the documentation says, for the owner alone', () =>
    withFolder(async folder => {
      const root = join(folder, 'new', 'root')
      const store = await open(root)
      const { ref } = await store.put(Buffer.from('hello'), { displayName: 'hello.txt' })
      const path = bodyPath(root, sha256(Buffer.from('hello')))
      expect(fs.readFileSync(path, 'utf8')).to.equal('hello')
      expect(JSON.parse(fs.readFileSync(`${path}.json`, 'utf8'))).to.deep.equal(ref)
      expect(fs.statSync(root).mode & 0o777).to.equal(0o700)
      expect(fs.statSync(dirname(path)).mode & 0o777).to.equal(0o700)
      expect(fs.statSync(path).mode & 0o777).to.equal(0o600)
      expect(fs.readdirSync(join(root, 'tmp'))).to.deep.equal([])
      expect(fs.readdirSync(join(root, 'locks'))).to.deep.equal([])
      await store.close()
    }))

  it('refuses a root that is a symlink, a file, or open to others', () =>
    withFolder(async folder => {
      const real = join(folder, 'real')
      fs.mkdirSync(real, { mode: 0o700 })
      fs.symlinkSync(real, join(folder, 'link'))
      fs.writeFileSync(join(folder, 'file'), '')
      fs.mkdirSync(join(folder, 'shared'))
      fs.writeFileSync(join(folder, 'shared', 'x'), '')
      fs.chmodSync(join(folder, 'shared'), 0o777)
      const reasons = { link: 'is a symbolic link', file: 'is not a folder', shared: 'is open to' }
      for (const [name, reason] of Object.entries(reasons)) {
        const failure = await failureOf(() => open(join(folder, name)))
        expect(failure.code).to.equal('registry_dir_unsafe')
        expect(failure.message).to.contain(`${join(folder, name)} ${reason}`)
        expect(failure.hint).to.not.equal(undefined)
      }
      fs.symlinkSync(real, join(real, 'sha256'))
      expect((await failureOf(() => open(real))).code).to.equal('registry_dir_unsafe')
    }))

  it('leaves nothing behind when a put fails', () =>
    withFolder(async root => {
      const store = await open(root, { limits: { ...limits, maxArtefactBytes: 10 } })
      await failureOf(() => store.put(new Uint8Array(11)))
      expect(fs.readdirSync(join(root, 'tmp'))).to.deep.equal([])
      const shards = fs.readdirSync(join(root, 'sha256'))
      expect(shards.flatMap(name => fs.readdirSync(join(root, 'sha256', name)))).to.deep.equal([])
      await store.close()
    }))

  it('says storage_failed with a hint when the folder cannot be used, and works when it is back', () =>
    withFolder(async root => {
      const store = await open(root)
      fs.renameSync(join(root, 'tmp'), join(root, 'away'))
      fs.writeFileSync(join(root, 'tmp'), '')
      const failure = await failureOf(() => store.put(randomBytes(8)))
      expect(failure.code).to.equal('storage_failed')
      expect(failure.hint).to.not.equal(undefined)
      fs.rmSync(join(root, 'tmp'))
      fs.renameSync(join(root, 'away'), join(root, 'tmp'))
      expect((await store.put(randomBytes(8))).existed).to.equal(false)
      await store.close()
    }))

  it('hides only the bad sidecar and logs it once', () =>
    withFolder(async root => {
      const writer = await open(root)
      const good = (await writer.put(bytesHashedTo('aa'))).ref
      const cases: [string, (ref: Record<string, unknown>) => string][] = [
        ['not JSON', () => '{"uri":'],
        ['not an object', () => '[]'],
        ['wrong digest', ref => JSON.stringify({ ...ref, digest: `sha256:${'0'.repeat(64)}` })],
        ['bad mime', ref => JSON.stringify({ ...ref, mime: 'a/b\r\nX: y' })],
        ['bad time', ref => JSON.stringify({ ...ref, created_at: 'now' })],
        ['bad expiry', ref => JSON.stringify({ ...ref, expires_at: 5 })],
        ['bad size', ref => JSON.stringify({ ...ref, size_bytes: -1 })],
        ['bad name', ref => JSON.stringify({ ...ref, display_name: 'a\nb' })],
        ['too deep', ref => JSON.stringify({ ...ref, metadata: 0 }).replace('0}', deep(200) + '}')],
        ['too large', ref => JSON.stringify({ ...ref, metadata: 'x'.repeat(100_000) })],
      ]
      const hashes: string[] = []
      for (const [, spoil] of cases) {
        const { ref } = await writer.put(bytesHashedTo('aa'))
        const path = `${bodyPath(root, ref.digest.slice(7))}.json`
        fs.writeFileSync(path, spoil({ ...ref }))
        hashes.push(ref.digest.slice(7))
      }
      await writer.close()

      const log = recordingLog()
      const store = await open(root, { log })
      for (let round = 0; round < 3; round++) {
        expect((await store.page(undefined, 100)).refs).to.deep.equal([good])
      }
      for (const [at, hex] of hashes.entries()) {
        expect(await store.find(hex), cases[at]?.[0]).to.equal(null)
        expect(await store.open(hex)).to.equal(null)
      }
      expect(log.lines.filter(line => line.level === 'warn')).to.have.length(cases.length)
      await store.close()
    }))

  it('serves nothing through a symlink and hides a body that is missing', () =>
    withFolder(async root => {
      fs.writeFileSync(join(root, 'secret'), 'secret')
      const first = await open(root)
      const linked = (await first.put(Buffer.from('secret'))).ref.digest.slice(7)
      const missing = (await first.put(randomBytes(8))).ref.digest.slice(7)
      await first.close()
      for (const hex of [linked, missing]) fs.rmSync(bodyPath(root, hex))
      fs.symlinkSync(join(root, 'secret'), bodyPath(root, linked))
      const store = await open(root)
      for (const hex of [linked, missing]) {
        expect(await store.find(hex)).to.equal(null)
        expect(await store.open(hex)).to.equal(null)
      }
      await store.close()
    }))

  it('refuses a body that became a symlink after it was indexed', () =>
    withFolder(async root => {
      const store = await open(root)
      const hex = (await store.put(Buffer.from('secret'))).ref.digest.slice(7)
      age(root)
      await store.page(undefined, 1)
      fs.writeFileSync(join(root, 'secret'), 'secret')
      const path = bodyPath(root, hex)
      const times = fs.statSync(dirname(path))
      fs.rmSync(path)
      fs.symlinkSync(join(root, 'secret'), path)
      fs.utimesSync(dirname(path), times.atime, times.mtime)
      expect((await failureOf(() => store.open(hex))).code).to.equal('storage_failed')
      await store.close()
    }))

  for (const claimed of [1, 5_000_000]) {
    it(`serves an undamaged body whose sidecar claims ${claimed} bytes`, () =>
      withFolder(async root => {
        const bytes = randomBytes(3000)
        const hex = sha256(bytes)
        const writer = await open(root)
        const { ref } = await writer.put(bytes)
        await writer.close()
        const sidecar = `${bodyPath(root, hex)}.json`
        fs.writeFileSync(sidecar, JSON.stringify({ ...ref, size_bytes: claimed }))
        const store = await open(root)
        expect(await store.find(hex)).to.deep.equal(ref)
        expect((await store.page(undefined, 1)).refs).to.deep.equal([ref])
        const artefact = await store.open(hex)
        if (artefact === null) throw new Error('not stored')
        expect((await collect(artefact.verified())).equals(bytes)).to.equal(true)
        await artefact.close()
        expect(fs.readdirSync(join(root, 'quarantine'))).to.deep.equal([])
        fs.truncateSync(bodyPath(root, hex), 2999)
        expect((await failureOf(() => store.open(hex))).code).to.equal('artefact_corrupt')
        await store.close()
      }))
  }

  it('moves a damaged or cut body aside, within the bound', () =>
    withFolder(async root => {
      const bound = { ...limits, maxArtefactQuarantineBytes: 8192 }
      const store = await open(root, { limits: bound })
      for (let at = 0; at < 3; at++) {
        const hex = (await store.put(randomBytes(100))).ref.digest.slice(7)
        fs.truncateSync(bodyPath(root, hex), 50)
        expect((await failureOf(() => store.open(hex))).code).to.equal('artefact_corrupt')
        expect(fs.existsSync(bodyPath(root, hex))).to.equal(false)
        expect(fs.existsSync(`${bodyPath(root, hex)}.json`)).to.equal(false)
      }
      expect(fs.readdirSync(join(root, 'quarantine'))).to.have.length(3)
      await store.sweep()
      expect(fs.readdirSync(join(root, 'quarantine'))).to.have.length(2)
      await store.close()
    }))

  it('creates a deleted folder again, says so once, and lists what is left', () =>
    withFolder(async folder => {
      const root = join(folder, 'state', 'artefacts')
      const log = recordingLog()
      const store = await open(root, { log })
      const texts = ['one', 'two'].map(text => Buffer.from(text))
      for (const deleted of [root, dirname(root), join(root, 'tmp')]) {
        await store.put(randomBytes(10))
        log.lines.length = 0
        fs.rmSync(deleted, { recursive: true })
        const puts = await Promise.all(texts.map(text => store.put(text)))
        expect(log.lines.filter(({ text }) => text.includes('was deleted'))).to.have.length(1)
        const { refs } = await store.page(undefined, 10)
        expect(refs.map(ref => ref.uri)).to.include.members(puts.map(({ ref }) => ref.uri))
        expect(refs).to.have.length(fs.existsSync(root) && deleted.endsWith('tmp') ? 3 : 2)
      }
      fs.rmSync(root, { recursive: true })
      await store.sweep()
      expect((await store.page(undefined, 10)).refs).to.deep.equal([])
      expect(fs.existsSync(join(root, 'sha256'))).to.equal(true)
      await store.close()
    }))

  it('logs a failing upkeep once for each cause', () =>
    withFolder(async folder => {
      const root = join(folder, 'state', 'artefacts')
      const log = recordingLog()
      const quick = resolveLimits({ artefactPollMs: 1, artefactSweepMs: 0 })
      const store = await open(root, { log, limits: quick })
      const failures = () => log.lines.filter(({ level }) => level === 'error')
      const polled = async (isDone: () => boolean) => {
        while (!isDone()) await new Promise(resolve => setTimeout(resolve, 5))
      }
      store.onChange(() => {})
      fs.rmSync(dirname(root), { recursive: true })
      fs.writeFileSync(dirname(root), '')
      await polled(() => failures().length > 0)
      for (let poll = 0; poll < 20; poll++) await store.refresh().catch(() => {})
      fs.rmSync(dirname(root))
      await polled(() => log.lines.some(({ text }) => text.includes('was deleted')))
      expect(failures()).to.have.length(1)
      await store.close()
    }))

  it('opens a bounded number of bodies to send, and the next when one is closed', () =>
    withFolder(async root => {
      const store = await open(root)
      const hex = (await store.put(randomBytes(10))).ref.digest.slice(7)
      const bodies = await Promise.all(
        Array.from({ length: 128 }, () => store.openToSend(hex, () => {})),
      )
      const order: string[] = []
      const late = store
        .openToSend(hex, () => {})
        .then(body => {
          order.push('opened')
          return body
        })
      // What is read here, and not sent to clients, does not wait.
      await (await store.open(hex))?.close()
      order.push('closing')
      await bodies[0]?.close()
      bodies[0] = await late
      expect(order).to.deep.equal(['closing', 'opened'])
      // A hash without a body holds no place, closing twice frees none.
      expect(await Promise.all([bodies[0]?.close(), bodies[0]?.close()])).to.have.length(2)
      expect(await store.openToSend('0'.repeat(64), () => {})).to.equal(null)
      bodies[0] = await store.openToSend(hex, () => {})
      for (const body of bodies) await body?.close()
      await store.close()
    }))

  it('leaves a good body alone that replaced the damaged one while it was read', () =>
    withFolder(async root => {
      const store = await open(root)
      const bytes = randomBytes(1000)
      const hex = sha256(bytes)
      await store.put(bytes)
      flipByte(bodyPath(root, hex))
      const artefact = await store.open(hex)
      if (artefact === null) throw new Error('not stored')
      await store.put(bytes)
      const failure = await failureOf(() => Array.fromAsync(artefact.verified()))
      await artefact.close()
      expect(failure.code).to.equal('artefact_corrupt')
      expect(fs.readFileSync(bodyPath(root, hex)).equals(bytes)).to.equal(true)
      expect(await store.find(hex)).to.not.equal(null)
      await store.close()
    }))

  it('keeps another store, of this process or another, in step', () =>
    withFolder(async root => {
      const [one, two] = [await open(root), await open(root)]
      for (let at = 0; at < 20; at++) {
        const { ref } = await one.put(bytesHashedTo('0'), { displayName: `n${at}` })
        const hex = ref.digest.slice(7)
        expect(await two.find(hex), `find ${at}`).to.deep.equal(ref)
        expect((await two.page(undefined, 100)).refs, `page ${at}`).to.have.length(at + 1)
      }
      const bytes = bytesHashedTo('0')
      await one.put(bytes, { displayName: 'first' })
      await two.page(undefined, 100)
      for (let at = 0; at < 10; at++) {
        const { ref } = await one.put(bytes, { displayName: `again${at}` })
        expect(await two.find(sha256(bytes))).to.deep.equal(ref)
      }
      await one.remove(sha256(bytes))
      expect(await two.find(sha256(bytes))).to.equal(null)
      expect((await two.page(undefined, 100)).refs).to.have.length(20)
      await one.close()
      await two.close()
    }))

  it('tells listeners of what another process did, by its poll', () =>
    withFolder(async root => {
      const one = await open(root)
      const two = await open(root, { limits: { ...limits, artefactPollMs: 5 } })
      const heard = new Promise<void>(resolve => two.onChange(resolve))
      await one.put(randomBytes(8))
      await heard
      await one.close()
      await two.close()
    }))

  it('does not remove what another process stored again since', () =>
    withFolder(async root => {
      let time = Date.parse('2030-01-01T00:00:00Z')
      const clock = { now: () => time }
      const ttl = { ...limits, artefactTtlMs: 1000 }
      const [one, two] = [
        await open(root, { clock, limits: ttl }),
        await open(root, { clock, limits: ttl }),
      ]
      const bytes = randomBytes(8)
      await one.put(bytes)
      await two.page(undefined, 1)
      time += 999
      const { existed } = await one.put(bytes)
      time += 1
      await two.sweep()
      expect(existed).to.equal(true)
      expect(await one.find(sha256(bytes))).to.not.equal(null)
      await one.close()
      await two.close()
    }))

  it('does not evict what another process stored again since', () =>
    withFolder(async root => {
      const clock = settableClock()
      const one = await open(root, { clock })
      const two = await open(root, { clock, limits: { ...limits, maxArtefacts: 2 } })
      const old = randomBytes(8)
      for (const bytes of [old, randomBytes(8)]) {
        await one.put(bytes)
        clock.advance(1)
      }
      await two.page(undefined, 9)
      await one.put(old)
      clock.advance(1)
      await two.put(randomBytes(8))
      expect(await one.find(sha256(old))).to.not.equal(null)
      await two.sweep()
      expect((await one.page(undefined, 9)).refs).to.have.length(2)
      expect(await one.find(sha256(old))).to.not.equal(null)
      await one.close()
      await two.close()
    }))

  it('sees a change that left the time of the folder as it was', () =>
    withFolder(async root => {
      const [one, two] = [await open(root), await open(root)]
      const shard = join(root, 'sha256', 'ab')
      // As on a file system whose clock ticks slowly: the first change and the second in one tick.
      const tick = new Date(Date.now() + 50_000)
      await one.put(bytesHashedTo('ab'))
      fs.utimesSync(shard, tick, tick)
      expect((await two.page(undefined, 9)).refs).to.have.length(1)
      const { ref } = await one.put(bytesHashedTo('ab'))
      fs.utimesSync(shard, tick, tick)
      expect((await two.page(undefined, 9)).refs).to.have.length(2)
      expect(await two.find(ref.digest.slice(7))).to.deep.equal(ref)
      await one.close()
      await two.close()
    }))

  it('reads no sidecar and no folder for a page of an unchanged store', () =>
    withFolder(async root => {
      const writer = await open(root)
      for (let at = 0; at < 40; at++) await writer.put(randomBytes(8))
      await writer.close()
      age(root)
      const work = { shardChecks: 0, shardScans: 0, sidecarReads: 0, bodiesHashed: 0 }
      // Without the poll, only the change mark says that there is something to look at.
      const limits = { ...defaultLimits, artefactPollMs: 0 }
      const store = await open(root, { work, limits })
      expect(work.sidecarReads).to.equal(40)
      const before = { ...work }
      for (let round = 0; round < 5; round++) await store.page(undefined, 500)
      expect(work.shardScans).to.equal(before.shardScans)
      expect(work.sidecarReads).to.equal(before.sidecarReads)
      expect(work.shardChecks).to.equal(before.shardChecks)

      const other = await open(root)
      const { ref } = await other.put(bytesHashedTo('7f'))
      expect((await store.page(undefined, 1)).refs[0]).to.deep.equal(ref)
      expect(work.shardScans).to.equal(before.shardScans + 1)
      const checks = work.shardChecks
      await other.put(bytesHashedTo('7f'))
      await Promise.all(Array.from({ length: 50 }, () => store.page(undefined, 500)))
      expect(work.shardChecks, 'one look for all').to.equal(checks + 256)
      await other.close()
      await store.close()
    }))

  it('cleans up after interrupted processes and spares running ones', () =>
    withFolder(async root => {
      const store = await open(root)
      const kept = (await store.put(randomBytes(8))).ref
      const gone = ownMark().replace(/-\d+-\d+$/, '-4194303-1')
      const orphan = bytesHashedTo('1')
      const path = bodyPath(root, sha256(orphan))
      fs.writeFileSync(path, orphan)
      fs.writeFileSync(join(root, 'tmp', `${gone}.x`), 'half')
      fs.writeFileSync(join(root, 'tmp', `00000000-1-1.x`), 'of another machine')
      fs.writeFileSync(join(root, 'locks', sha256(orphan)), `${gone} x`)
      const started = Promise.withResolvers<void>()
      const finish = Promise.withResolvers<void>()
      const running = store.put(
        (async function* () {
          yield randomBytes(8)
          started.resolve()
          await finish.promise
        })(),
      )
      await started.promise

      const next = await open(root)
      expect(fs.existsSync(path)).to.equal(false)
      expect(fs.readdirSync(join(root, 'locks'))).to.deep.equal([])
      expect(fs.readdirSync(join(root, 'tmp'))).to.have.length(2)
      expect(await next.find(kept.digest.slice(7))).to.deep.equal(kept)
      finish.resolve()
      expect((await running).existed).to.equal(false)
      await next.close()
      await store.close()
    }))

  it('keeps a body without sidecar while its entry is locked by a running process', () =>
    withFolder(async root => {
      const bytes = randomBytes(8)
      const path = bodyPath(root, sha256(bytes))
      await (await open(root)).close()
      fs.writeFileSync(path, bytes)
      const lock = join(root, 'locks', sha256(bytes))
      fs.writeFileSync(lock, `${ownMark()} x`)
      const store = await open(root)
      expect(fs.existsSync(path)).to.equal(true)
      fs.rmSync(lock)
      await store.sweep()
      expect(fs.existsSync(path)).to.equal(false)
      await store.close()
    }))
})

function deep(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels)
}
