import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { takeFileLock } from '../../../src/lib/config/file-lock.ts'
import { withGivenToken, withSavedToken } from '../../../src/lib/accounts/session.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { recordingLog } from '../../helpers/recording-log.ts'
import { exitOf, firstLine } from '../../helpers/program.ts'
import { startScript } from '../../nightly/support.ts'
import { login, minuteMs, withCase } from './saved-login.ts'
import { clientOf, expectNoLeak, jwt, thrownBy } from './support.ts'

describe('saved login', () => {
  it('is used without a lock and without a write while it is fresh', () =>
    withCase(async ({ registry, save, whoami, path }) => {
      await save(login(registry, 6 * minuteMs))
      fs.rmSync(join(path, '..', 'config.lock'))
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['me'])
      expect(fs.existsSync(join(path, '..', 'config.lock'))).to.equal(false)
    }))

  it('is refreshed and saved when less than five minutes are left', () =>
    withCase(async ({ registry, save, saved, whoami }) => {
      await save(login(registry, 4 * minuteMs))
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['refresh', 'me'])
      const entry = await saved()
      expect(entry?.username).to.equal('alice')
      expect(entry?.accessToken?.reveal()).to.equal(registry.access)
      expect(entry?.refreshToken?.reveal()).to.equal('srt_1')
      expect(entry?.accessExpiresAtMs).to.be.greaterThan(Date.now() + 50 * minuteMs)
      expect(entry?.refreshExpiresAtMs).to.be.greaterThan(Date.now())
    }))

  it('is refreshed by the access token when there is no other', () =>
    withCase(async ({ registry, save, saved, whoami }) => {
      const { refreshToken, ...rest } = login(registry, 4 * minuteMs)
      await save(rest)
      expect(await whoami()).to.equal('alice')
      expect(registry).to.include({ reissues: 1, rotations: 0 })
      expect((await saved())?.accessToken?.reveal()).to.equal(registry.access)
    }))

  it('is refreshed by the access token where the refresh token is not known', () =>
    withCase(async ({ registry, save, saved, whoami }) => {
      await save({ ...login(registry, 4 * minuteMs), refreshToken: new Secret('srt_other') })
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['refresh', 'refresh', 'me'])
      expect((await saved())?.accessToken?.reveal()).to.equal(registry.access)
    }))

  it('is refreshed once after a 401, and the call is made again', () =>
    withCase(async ({ registry, save, whoami }) => {
      await save(login(registry, 60 * minuteMs))
      registry.access = 'something-else'
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['me', 'refresh', 'me'])
    }))

  it('takes what another process saved instead of refreshing', () =>
    withCase(async ({ registry, store, save, saved, whoami }) => {
      await save(login(registry, 4 * minuteMs))
      const old = await saved()
      const read = store.read.bind(store)
      // The other process is done between our look and our lock.
      let looks = 0
      Object.assign(store, {
        read: async () => {
          const config = await read()
          if (looks++ > 0 || old === undefined) return config
          registry.access = jwt(Date.now() + 60 * minuteMs, 'of-another')
          await save({ ...old, accessToken: new Secret(registry.access) })
          return config
        },
      })
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['me'])
    }))

  it('goes on with the old token when the refresh fails for a reason that passes', () =>
    withCase(async ({ registry, save, saved, whoami, lines }) => {
      await save(login(registry, 4 * minuteMs))
      registry.broken = 'refresh'
      expect(await whoami()).to.equal('alice')
      expect((await saved())?.refreshToken?.reveal()).to.equal('srt_first')
      expect(lines.some(({ level }) => level === 'debug')).to.equal(true)
    }))

  it('keeps everything, and names the network, when the registry is away', () =>
    withCase(async ({ registry, save, saved, whoami }) => {
      await save(login(registry, -minuteMs))
      registry.broken = 'all'
      const secrets = [registry.access, registry.refresh]
      const failure = expectNoLeak(await thrownBy(whoami), secrets)
      expect(failure.code).to.equal('registry_failed')
      expect((await saved())?.refreshToken?.reveal()).to.equal('srt_first')
    }))

  it('is cleared, and says how to log in, when the registry has ended it', () =>
    withCase(async ({ registry, save, saved, whoami, path }) => {
      await save(login(registry, -minuteMs))
      const secrets = [registry.access, registry.refresh]
      registry.reused = true
      registry.access = 'something-else'
      const failure = expectNoLeak(await thrownBy(whoami), secrets)
      expect(failure.code).to.equal('auth_required')
      expect(failure.message).to.include(path)
      expect(failure.hint).to.include(`service-cli login --registry ${registry.url}`)
      expect(await saved()).to.deep.equal({
        ...(await saved()),
        accessToken: undefined,
        refreshToken: undefined,
        username: 'alice',
      })
    }))

  it('is not cleared by a refused refresh while the old token may still be good', () =>
    withCase(async ({ registry, save, saved, whoami }) => {
      await save(login(registry, 4 * minuteMs))
      registry.broken = 'no_refresh'
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['refresh', 'refresh', 'me'])
      expect((await saved())?.accessToken?.reveal()).to.equal(registry.access)
    }))

  it('leaves the login that someone made while it was refused', () =>
    withCase(async ({ registry, store, save, saved }) => {
      await save(login(registry, 60 * minuteMs))
      const client = clientOf(registry.url)
      const log = recordingLog()
      registry.access = jwt(Date.now() + 60 * minuteMs, 'of-a-new-login')
      let calls = 0
      const result = await withSavedToken(
        { client, store, log, refreshMarginMs: 0 },
        async token => {
          if (calls++ === 0) {
            const failure = await thrownBy(() => client.me(token))
            await save({ ...login(registry, 60 * minuteMs), username: 'carol' })
            throw failure
          }
          return (await client.me(token)).username
        },
      )
      expect(result).to.equal('alice')
      expect((await saved())?.username).to.equal('carol')
      expect(registry.calls).to.deep.equal(['me', 'me'])
    }))

  it('leaves a login that came in spite of the lock, as on some network folders', () =>
    withCase(async ({ registry, store, save, saved, whoami }) => {
      await save(login(registry, -minuteMs))
      const entry = { ...login(registry, 60 * minuteMs), accessToken: new Secret('of-carol') }
      registry.broken = 'no_refresh'
      const locked = store.locked.bind(store)
      Object.assign(store, {
        locked: (run: Parameters<typeof locked>[0]) =>
          locked(async held => {
            const before = await held.read()
            const servers = new Map([[registry.url, { login: { ...entry, username: 'carol' } }]])
            let reads = 0
            // The first look finds the old login, the next one that of carol.
            const read = () => (reads++ === 0 ? Promise.resolve(before) : held.read())
            await held.write({ ...before, servers })
            return run({ ...held, read })
          }),
      })
      expectNoLeak(await thrownBy(whoami), [registry.access])
      expect((await saved())?.accessToken?.reveal()).to.equal('of-carol')
    }))

  it('is not taken for that of another user who logged in meanwhile', () =>
    withCase(async ({ registry, store, save }) => {
      await save({ ...login(registry, 60 * minuteMs), username: 'carol' })
      const client = clientOf(registry.url)
      const parts = { client, store, username: 'alice', log: recordingLog(), refreshMarginMs: 0 }
      const failure = expectNoLeak(
        await thrownBy(() => withSavedToken(parts, token => client.me(token))),
        [registry.access],
      )
      expect(failure.code).to.equal('auth_required')
      expect(registry.calls).to.deep.equal([])
    }))

  it('never refreshes a service token', () =>
    withCase(async ({ registry, save, whoami }) => {
      registry.access = 'svc_1'
      await save({ accessToken: new Secret('svc_1'), accessExpiresAtMs: Date.now() + minuteMs })
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['me'])
      registry.access = 'svc_2'
      const failure = expectNoLeak(await thrownBy(whoami), ['svc_1'])
      expect(failure.code).to.equal('auth_required')
      expect(registry.calls).to.deep.equal(['me', 'me'])
    }))

  it('says auth_required when nobody is logged in', () =>
    withCase(async ({ registry, whoami }) => {
      const failure = expectNoLeak(await thrownBy(whoami), [])
      expect(failure.code).to.equal('auth_required')
      expect(failure.message).to.equal(`not logged in to ${registry.url}`)
      expect(registry.calls).to.deep.equal([])
    }))

  it('uses the old token when the lock is not to be had', () =>
    withCase(async ({ registry, save, saved, whoami, path, lines }) => {
      await save(login(registry, 4 * minuteMs))
      const lock = await takeFileLock(join(path, '..', 'config.lock'), { waitMs: 0 })
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['me'])
      expect(lines.some(({ text }) => text.includes('stays as it is'))).to.equal(true)
      if (lock.ok) lock.value()
      expect((await saved())?.refreshToken?.reveal()).to.equal('srt_first')
    }))

  it('is loud when new tokens could not be saved', () =>
    withCase(async ({ registry, save, whoami, path, store }) => {
      await save(login(registry, 4 * minuteMs))
      // Made unwritable at the moment of the save: a link stands in the place of the file.
      const locked = store.locked.bind(store)
      Object.assign(store, {
        locked: (run: Parameters<typeof locked>[0]) =>
          locked(held =>
            run({
              ...held,
              write(config) {
                fs.rmSync(path)
                fs.symlinkSync('/nowhere', path)
                return held.write(config)
              },
            }),
          ),
      })
      const error = await thrownBy(whoami)
      const failure = expectNoLeak(error, [registry.access, registry.refresh, 'srt_first'])
      expect(registry.rotations).to.equal(1)
      expect(failure.code).to.equal('config_invalid')
      expect(failure.message).to.include('gave new tokens, but they could not be saved')
      expect(failure.message).to.include(`${path} is a symbolic link`)
      expect(failure.hint).to.include('log in again')
    }))

  it('is rotated once by three processes that start at the same time', () =>
    withCase(async ({ registry, save, saved, path }) => {
      await save(login(registry, -minuteMs))
      const script = join(import.meta.dirname, '../../helpers/scripts', 'whoami.ts')
      const running = Array.from({ length: 3 }, () => startScript(script, [path, registry.url]))
      await Promise.all(running.map(child => firstLine(child.stdout)))
      for (const child of running) child.stdin?.write('go\n')
      expect(await Promise.all(running.map(exitOf))).to.deep.equal(Array(3).fill(0))
      expect(registry).to.include({ rotations: 1, reused: false, reissues: 0 })
      const entry = await saved()
      expect(entry?.accessToken?.reveal()).to.equal(registry.access)
      expect(entry?.refreshToken?.reveal()).to.equal(registry.refresh)
      expect(fs.statSync(path).mode & 0o777).to.equal(0o600)
    }))
})

describe('given token', () => {
  it('is named by its source when it is refused, never refreshed and never saved', () =>
    withCase(async ({ registry, path }) => {
      const client = clientOf(registry.url)
      const token = new Secret('svc_unknown')
      const choice = { source: 'variable', name: 'SERVICE_TOKEN' } as const
      const run = () => withGivenToken(token, choice, given => client.me(given))
      const failure = expectNoLeak(await thrownBy(run), ['svc_unknown'])
      expect(failure.code).to.equal('auth_refused')
      expect(failure.message).to.include('the token of SERVICE_TOKEN')
      expect(failure.hint).to.include('take SERVICE_TOKEN away')
      expect(registry.calls).to.deep.equal(['me'])
      expect(fs.existsSync(path)).to.equal(false)
    }))
})
