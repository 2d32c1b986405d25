import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { connectAccounts } from '../../../src/lib/accounts/connect.ts'
import { withSavedToken } from '../../../src/lib/accounts/session.ts'
import type { SavedLogin } from '../../../src/lib/config/config-file.ts'
import { createConfigStore } from '../../../src/lib/config/config-store.ts'
import { withFileLock } from '../../../src/lib/config/private-file.ts'
import { withLogin } from '../../../src/lib/config/saved-logins.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { withFolder } from '../../helpers/folder.ts'
import { type LogLine, recordingLog } from '../../helpers/recording-log.ts'
import { withAccountsServer } from '../accounts/harness.ts'
import {
  accountsUrlOf,
  clientOf,
  expectNoLeak,
  jwt,
  sendJson,
  thrownBy,
  withServer,
} from './support.ts'

/** A registry with refresh tokens that are good for one use; a second use ends the session. */
interface RotatingAccounts {
  readonly url: string
  /** What is valid now. */
  access: string
  refresh: string
  rotations: number
  reissues: number
  reused: boolean
  /** What answers 503. */
  broken: 'no' | 'refresh' | 'all'
  readonly calls: string[]
}

const hourMs = 3_600_000

function withRotatingAccounts<T>(run: (registry: RotatingAccounts) => Promise<T>): Promise<T> {
  const state: RotatingAccounts = {
    url: '',
    access: jwt(Date.now() + hourMs, 'first'),
    refresh: 'srt_first',
    rotations: 0,
    reissues: 0,
    reused: false,
    broken: 'no',
    calls: [],
  }
  return withServer(
    ({ path, authorization, body }, res) => {
      const call = path.split('/').at(-1) ?? ''
      state.calls.push(call)
      const refreshing = call === 'refresh'
      if (state.broken === 'all' || (refreshing && state.broken === 'refresh')) {
        return sendJson(res, 503, { code: 'overloaded' })
      }
      const refused = () => sendJson(res, 401, { code: 'token-invalid', detail: 'no such token' })
      if (!refreshing) {
        if (authorization !== `Bearer ${state.access}`) return refused()
        return sendJson(res, 200, { username: 'alice', email: 'alice@x.example' })
      }
      if (body?.refresh_token !== undefined) {
        if (state.reused || body.refresh_token !== state.refresh) {
          state.reused = true
          return refused()
        }
        state.rotations++
        state.access = jwt(Date.now() + hourMs, `access-${state.rotations}`)
        state.refresh = `srt_${state.rotations}`
        const { access, refresh } = state
        return sendJson(res, 200, {
          access_token: access,
          refresh_token: refresh,
          expires_in: 3600,
          refresh_expires_in: 86_400,
        })
      }
      if (authorization !== `Bearer ${state.access}`) return refused()
      state.reissues++
      state.access = jwt(Date.now() + hourMs, `reissue-${state.reissues}`)
      return sendJson(res, 200, { access_token: state.access })
    },
    ({ url }) => run(Object.assign(state, { url })),
  )
}

const minuteMs = 60_000

interface Case {
  readonly registry: RotatingAccounts
  readonly path: string
  readonly store: ReturnType<typeof createConfigStore>
  readonly lines: readonly LogLine[]
  save(entry: SavedLogin): Promise<unknown>
  saved(): Promise<SavedLogin | undefined>
  /** Who is logged in, by the saved token. */
  whoami(): Promise<string>
}

function withCase(run: (parts: Case) => Promise<void>): Promise<void> {
  return withFolder(folder =>
    withRotatingAccounts(async registry => {
      const path = join(folder, 'service-cli', 'config.toml')
      const log = recordingLog()
      const { lines } = log
      const store = createConfigStore({ path, log, lockWaitMs: 100 })
      const client = clientOf(registry.url)
      const parts = { client, store, log, refreshMarginMs: 5 * minuteMs }
      await run({
        registry,
        path,
        store,
        lines,
        save: entry =>
          store.update(config => ({
            ...config,
            servers: new Map(config.servers).set(registry.url, { login: entry }),
          })),
        saved: async () => (await store.read()).servers.get(registry.url)?.login,
        whoami: async () => (await withSavedToken(parts, token => client.me(token))).username,
      })
    }),
  )
}

/** What a login an hour ago left: valid for so long. */
function login({ access, refresh }: RotatingAccounts, leftMs: number): SavedLogin {
  return {
    username: 'alice',
    accessToken: new Secret(access),
    accessExpiresAtMs: Date.now() + leftMs,
    refreshToken: new Secret(refresh),
  }
}

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

  it('uses the old token when the lock is not to be had', () =>
    withCase(async ({ registry, save, saved, whoami, path, lines }) => {
      await save(login(registry, 4 * minuteMs))
      const lock = join(path, '..', 'config.lock')
      expect(await withFileLock(lock, whoami)).to.equal('alice')
      expect(registry.calls).to.deep.equal(['me'])
      expect(lines.some(({ text }) => text.includes('stays as it is'))).to.equal(true)
      expect((await saved())?.refreshToken?.reveal()).to.equal('srt_first')
    }))

  it('is loud when new tokens could not be saved', () =>
    withCase(async ({ registry, save, whoami, path, store }) => {
      await save(login(registry, 4 * minuteMs))
      // Made unwritable at the moment of the save: a folder stands in the place of the file.
      const locked = store.locked.bind(store)
      Object.assign(store, {
        locked: (run: Parameters<typeof locked>[0]) =>
          locked(held =>
            run({
              ...held,
              write(config) {
                fs.rmSync(path)
                fs.mkdirSync(path)
                return held.write(config)
              },
            }),
          ),
      })
      const error = await thrownBy(whoami)
      const failure = expectNoLeak(error, [registry.access, registry.refresh, 'srt_first'])
      expect(registry.rotations).to.equal(1)
      expect(failure.code).to.equal('storage_failed')
      expect(failure.message).to.include('gave new tokens, but they could not be saved')
      expect(failure.message).to.include(`${path} cannot be written`)
      expect(failure.hint).to.include('log in again')
    }))

  it('is rotated once by three that start at the same time', () =>
    withCase(async ({ registry, save, saved, path }) => {
      await save(login(registry, -minuteMs))
      const names = await Promise.all(
        [1, 2, 3].map(() => {
          const log = recordingLog()
          const store = createConfigStore({ path, log, lockWaitMs: 20_000 })
          const client = clientOf(registry.url)
          const parts = { client, store, log, refreshMarginMs: 5 * minuteMs }
          return withSavedToken(parts, async token => (await client.me(token)).username)
        }),
      )
      expect(names).to.deep.equal(['alice', 'alice', 'alice'])
      expect(registry).to.include({ rotations: 1, reused: false, reissues: 0 })
      expect((await saved())?.refreshToken?.reveal()).to.equal(registry.refresh)
      expect(fs.statSync(path).mode & 0o777).to.equal(0o600)
    }))

  it('lasts for thirty days at our registry, and then says so', () =>
    withAccountsServer(registry =>
      withFolder(async folder => {
        const { clock, base } = registry
        const server = accountsUrlOf(base)
        const configPath = join(folder, 'service-cli', 'config.toml')
        const client = connectAccounts({ server, entry: undefined, configPath, env: {}, clock })
        const store = createConfigStore({ path: configPath, log: silentLogger })
        const password = new Secret('a long and honest phrase')
        const account = { username: 'alice', email: 'alice@studio.example', password }
        const tokens = await client.register(account)
        await store.update(config => withLogin(config, base, { ...account, ...tokens }))
        const parts = { client, store, log: silentLogger, refreshMarginMs: 5 * minuteMs, clock }
        const whoami = async () => (await withSavedToken(parts, token => client.me(token))).username
        const saved = async () => (await store.read()).servers.get(base)?.login
        const dayMs = 24 * 60 * minuteMs

        clock.nowMs += dayMs - minuteMs
        expect(await whoami()).to.equal('alice')
        expect((await saved())?.accessToken?.equals(tokens.accessToken.reveal())).to.equal(false)
        // The laptop was closed for a week: only the refresh token is still good.
        clock.nowMs += 7 * dayMs
        expect(await whoami()).to.equal('alice')
        clock.nowMs += 24 * dayMs
        expect(expectNoLeak(await thrownBy(whoami), []).code).to.equal('auth_required')
        expect((await saved())?.accessToken).to.equal(undefined)
        expect((await saved())?.username).to.equal('alice')
      }),
    ))
})
