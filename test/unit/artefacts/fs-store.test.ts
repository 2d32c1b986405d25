import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { createFsStore } from '../../../src/server/artefacts/fs-store.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { recordingLog } from '../../helpers/recording-log.ts'
import { until } from '../../helpers/until.ts'
import { bodyPath, noTimers, open, sha256 } from './support.ts'
import { boundsWith } from '../../helpers/bounds.ts'

describe('filesystem artefact store', () => {
  it('announces an expired artefact when it expires, not at the next sweep', () =>
    withFolder(async root => {
      const limits = boundsWith({ artefactPollMs: 0, artefactSweepMs: 3_600_000 })
      const store = await createFsStore({ root, limits })
      const expiresAt = new Date(Date.now() + 200)
      await store.put(Buffer.from('short-lived'), { expiresAt })
      await new Promise<void>(resolve => store.onChange(resolve))
      expect((await store.page(undefined, 10)).refs).to.deep.equal([])
      await store.close()
    }))

  it('keeps its files readable by the owner only, and leaves no other behind', () =>
    withFolder(async folder => {
      const root = join(folder, 'new', 'root')
      const store = await open(root, { limits: { ...noTimers, maxArtefactBytes: 10 } })
      await store.put(Buffer.from('hello'))
      await failureOf(() => store.put(new Uint8Array(11)))
      const path = bodyPath(root, sha256(Buffer.from('hello')))
      expect(fs.statSync(root).mode & 0o777).to.equal(0o700)
      expect(fs.statSync(dirname(path)).mode & 0o777).to.equal(0o700)
      expect(fs.statSync(path).mode & 0o777).to.equal(0o600)
      expect(fs.statSync(`${path}.json`).mode & 0o777).to.equal(0o600)
      for (const name of ['tmp', 'locks'])
        expect(fs.readdirSync(join(root, name))).to.have.length(0)
      const files = fs.readdirSync(join(root, 'sha256'), { recursive: true, withFileTypes: true })
      expect(files.filter(file => file.isFile())).to.have.length(2)
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

  it('fails with storage_failed while a folder is unusable, and recovers', () =>
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

  it('creates a deleted folder again, logs it once and lists what is left', () =>
    withFolder(async folder => {
      const root = join(folder, 'state', 'artefacts')
      const log = recordingLog()
      const store = await open(root, { log })
      const texts = ['one', 'two'].map(text => Buffer.from(text))
      for (const [deleted, left] of [
        [root, 2],
        [join(root, 'tmp'), 3],
      ] as const) {
        await store.put(randomBytes(10))
        log.lines.length = 0
        fs.rmSync(deleted, { recursive: true })
        const puts = await Promise.all(texts.map(text => store.put(text)))
        expect(log.lines.filter(({ text }) => text.includes('was deleted'))).to.have.length(1)
        const { refs } = await store.page(undefined, 10)
        expect(refs.map(ref => ref.uri)).to.include.members(puts.map(({ ref }) => ref.uri))
        expect(refs).to.have.length(left)
      }
      await store.close()
    }))

  it('logs failing maintenance once for each cause', () =>
    withFolder(async folder => {
      const root = join(folder, 'state', 'artefacts')
      const log = recordingLog()
      const quick = boundsWith({ artefactPollMs: 1, artefactSweepMs: 0 })
      const store = await open(root, { log, limits: quick })
      const failures = () => log.lines.filter(({ level }) => level === 'error')
      store.onChange(() => {})
      fs.rmSync(dirname(root), { recursive: true })
      fs.writeFileSync(dirname(root), '')
      await until(() => failures().length > 0, 'the failure')
      for (let poll = 0; poll < 20; poll++) await store.refresh().catch(() => {})
      fs.rmSync(dirname(root))
      await until(() => log.lines.some(({ text }) => text.includes('was deleted')), 'the recovery')
      expect(failures()).to.have.length(1)
      await store.close()
    }))
})
