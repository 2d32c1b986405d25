import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { createConfigStore } from '../../../src/lib/config/config-store.ts'
import { takeFileLock } from '../../../src/lib/config/file-lock.ts'
import { withLogin } from '../../../src/lib/config/saved-logins.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { skipBecause } from '../../helpers/skip.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { type LogLine, recordingLog } from '../../helpers/recording-log.ts'

const url = 'https://registry.example'
const modeOf = (path: string) => fs.statSync(path).mode & 0o777

/** A store in a folder that is not made yet. */
function withStore(
  run: (parts: {
    store: ReturnType<typeof createConfigStore>
    path: string
    folder: string
    outside: string
    lines: readonly LogLine[]
    save(token?: string): Promise<unknown>
  }) => Promise<void>,
): Promise<void> {
  return withFolder(async outside => {
    const folder = join(outside, 'home', 'service-cli')
    const path = join(folder, 'config.toml')
    const log = recordingLog()
    const { lines } = log
    const store = createConfigStore({ path, log, lockWaitMs: 100 })
    const save = (token = 'token') =>
      store.update(config =>
        withLogin(config, url, { username: 'a', accessToken: new Secret(token) }),
      )
    await run({ store, path, folder, outside, lines, save })
  })
}

describe('configuration store', () => {
  before(function () {
    if (process.platform === 'win32') skipBecause(this, 'needs POSIX modes and links')
  })

  it('is empty without a file, and makes none by reading', () =>
    withStore(async ({ store, folder }) => {
      expect((await store.read()).servers.size).to.equal(0)
      expect(fs.existsSync(folder)).to.equal(false)
    }))

  it('makes 0600 in 0700 under any umask', () =>
    withStore(async ({ store, path, folder, save }) => {
      const before = process.umask(0)
      try {
        await save()
      } finally {
        process.umask(before)
      }
      expect(modeOf(path)).to.equal(0o600)
      expect(modeOf(folder)).to.equal(0o700)
      expect((await store.read()).servers.get(url)?.login?.username).to.equal('a')
    }))

  it('tightens a wider file and folder, with one warning each', () =>
    withStore(async ({ store, path, folder, lines, save }) => {
      await save('token-nobody-may-see')
      fs.chmodSync(path, 0o644)
      fs.chmodSync(folder, 0o755)
      await store.read()
      expect(modeOf(path)).to.equal(0o600)
      expect(modeOf(folder)).to.equal(0o700)
      fs.chmodSync(path, 0o640)
      await store.read()
      expect(modeOf(path)).to.equal(0o600)
      const warnings = lines.filter(({ level }) => level === 'warn').map(({ text }) => text)
      expect(warnings).to.have.length(2)
      expect(warnings[0]).to.include(`${folder} was open to other users`).and.include('0755')
      expect(warnings[1]).to.include(`${path} was open to other users`).and.include('0644')
      expect(JSON.stringify(lines)).to.not.include('token-nobody-may-see')
    }))

  it('refuses a symlinked file, naming both paths, and leaves what it leads to', () =>
    withStore(async ({ store, path, folder, outside, save }) => {
      const victim = join(outside, 'victim')
      fs.writeFileSync(victim, 'version = 1\n', { mode: 0o644 })
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
      fs.symlinkSync(victim, path)
      for (const run of [() => store.read(), () => save()]) {
        const failure = await failureOf(run)
        expect(failure.code).to.equal('config_invalid')
        expect(failure.message).to.equal(`${path} is a symbolic link to ${victim}`)
        expect(failure.hint).to.be.a('string')
      }
      expect(fs.readFileSync(victim, 'utf8')).to.equal('version = 1\n')
      expect(modeOf(victim)).to.equal(0o644)
      expect(fs.lstatSync(path).isSymbolicLink()).to.equal(true)
    }))

  it('refuses a symlinked folder, naming both paths', () =>
    withStore(async ({ store, folder, outside, save }) => {
      const elsewhere = join(outside, 'elsewhere')
      fs.mkdirSync(elsewhere)
      fs.mkdirSync(join(outside, 'home'))
      fs.symlinkSync(elsewhere, folder)
      for (const run of [() => store.read(), () => save()]) {
        const { message } = await failureOf(run)
        expect(message).to.equal(`${folder} is a symbolic link to ${elsewhere}`)
      }
      expect(fs.readdirSync(elsewhere)).to.deep.equal([])
    }))

  it('refuses a pipe, a folder and a large file in the place of the file', () =>
    withStore(async ({ store, path, folder }) => {
      fs.mkdirSync(path, { recursive: true, mode: 0o700 })
      fs.chmodSync(folder, 0o700)
      expect((await failureOf(() => store.read())).code).to.equal('config_invalid')
      fs.rmSync(path, { recursive: true })
      fs.writeFileSync(path, '#'.repeat(1024 * 1024 + 1), { mode: 0o600 })
      expect((await failureOf(() => store.read())).message).to.include('is larger than')
    }))

  it('refuses a file of another user', function () {
    if (process.geteuid?.() !== 0) skipBecause(this, 'needs root, to give a file away')
    return withStore(async ({ store, path, save }) => {
      await save()
      fs.chownSync(path, 4711, 4711)
      const failure = await failureOf(() => store.read())
      expect(failure.message).to.equal(`${path} belongs to another user (uid 4711)`)
    })
  })

  it('says so when the lock is not given up, or cannot be taken', () =>
    withStore(async ({ path, folder, save }) => {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
      const lock = await takeFileLock(join(folder, 'config.lock'), { waitMs: 0 })
      expect((await failureOf(() => save())).code).to.equal('config_busy')
      expect(fs.existsSync(path)).to.equal(false)
      if (lock.ok) lock.value()
      await save()
      expect(fs.existsSync(path)).to.equal(true)
      fs.writeFileSync(join(folder, 'config.lock'), 'no lock file '.repeat(99))
      expect((await failureOf(() => save())).code).to.equal('storage_failed')
    }))

  it('loses no change of eight writers at once', () =>
    withStore(async ({ store, path }) => {
      const log = recordingLog()
      const writers = Array.from({ length: 8 }, () =>
        createConfigStore({ path, log, lockWaitMs: 20_000 }),
      )
      await Promise.all(
        writers.map(writer =>
          writer.update(config => {
            const count = Number(config.others?.['count'] ?? 0) + 1
            return { ...config, others: { count: BigInt(count) } }
          }),
        ),
      )
      expect((await store.read()).others).to.deep.equal({ count: 8n })
    }))

  it('removes what a writer that died left behind, and nothing else', () =>
    withStore(async ({ folder, save }) => {
      await save()
      fs.writeFileSync(join(folder, 'config.toml.0123.tmp'), 'half')
      fs.writeFileSync(join(folder, 'notes.tmp'), 'mine')
      await save('other')
      const names = fs.readdirSync(folder).toSorted()
      expect(names).to.deep.equal(['config.lock', 'config.toml', 'notes.tmp'])
    }))
})
