import { expect } from 'chai'
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withSavedToken } from '../../../src/lib/accounts/token.ts'
import { type SavedLogin, ConfigStore } from '../../../src/lib/config/config-file.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { clientOf, expectNoLeak, jwt, sendJson, thrownBy, withServer } from './support.ts'

/** A registry with tokens that are good for one refresh. */
interface RotatingAccounts {
  readonly url: string
  /** What is valid now. */
  access: string
  refresh: string
  /** Everything answers 503. */
  broken: boolean
  readonly calls: string[]
}

const hourMs = 3_600_000

function withRotatingAccounts<T>(run: (registry: RotatingAccounts) => Promise<T>): Promise<T> {
  const state: RotatingAccounts = {
    url: '',
    access: jwt(Date.now() + hourMs, 'first'),
    refresh: 'srt_first',
    broken: false,
    calls: [],
  }
  return withServer(
    ({ path, authorization, body }, res) => {
      const call = path.split('/').at(-1) ?? ''
      state.calls.push(call)
      if (state.broken) return sendJson(res, 503, { code: 'overloaded' })
      const isValid =
        body?.refresh_token === undefined
          ? authorization === `Bearer ${state.access}`
          : body.refresh_token === state.refresh
      if (!isValid) return sendJson(res, 401, { code: 'token-invalid', detail: 'no such token' })
      if (call === 'me') return sendJson(res, 200, { username: 'alice', email: 'alice@x.example' })
      state.access = jwt(Date.now() + hourMs, `access-${state.calls.length}`)
      const access_token = state.access
      if (body.refresh_token === undefined) return sendJson(res, 200, { access_token })
      state.refresh = `srt_${state.calls.length}`
      const lifetimes = { expires_in: 3600, refresh_expires_in: 86_400 }
      sendJson(res, 200, { access_token, refresh_token: state.refresh, ...lifetimes })
    },
    ({ url }) => run(Object.assign(state, { url })),
  )
}

const minuteMs = 60_000

interface Case {
  readonly registry: RotatingAccounts
  readonly path: string
  /** Saves what a login an hour ago left: valid for so long. */
  save(leftMs: number, more?: SavedLogin): Promise<unknown>
  saved(): Promise<SavedLogin | undefined>
  /** Who is logged in, by the saved token. */
  whoami(): Promise<string>
}

function withCase(run: (parts: Case) => Promise<void>): Promise<void> {
  return withRotatingAccounts(async registry => {
    const path = join(newFolder(), 'service-cli', 'config.toml')
    const openStore = () => new ConfigStore(path)
    const { url, access, refresh } = registry
    await run({
      registry,
      path,
      save: (leftMs, more) => {
        const login = {
          username: 'alice',
          accessToken: new Secret(access),
          accessExpiresAtMs: Date.now() + leftMs,
          refreshToken: new Secret(refresh),
          ...more,
        }
        return openStore().update(config => {
          return { ...config, logins: new Map(config.logins).set(url, login) }
        })
      },
      saved: async () => (await openStore().read()).logins.get(url),
      // As a process of its own.
      whoami: () => {
        const client = clientOf(url)
        return withSavedToken(client, openStore(), async token => {
          return (await client.me(token)).username
        })
      },
    })
  })
}

describe('a saved login', () => {
  it('is used without a lock and without a write while it is fresh', () =>
    withCase(async ({ registry, save, whoami, path }) => {
      await save(6 * minuteMs)
      rmSync(join(path, '..', 'config.lock'))
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['me'])
      expect(existsSync(join(path, '..', 'config.lock'))).to.equal(false)
    }))

  it('is refreshed and saved when less than five minutes are left', () =>
    withCase(async ({ registry, save, saved, whoami }) => {
      await save(4 * minuteMs)
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['refresh', 'me'])
      const login = await saved()
      expect(login?.username).to.equal('alice')
      expect(login?.accessToken?.reveal()).to.equal(registry.access)
      expect(login?.refreshToken?.reveal()).to.equal('srt_1')
      expect(login?.accessExpiresAtMs).to.be.greaterThan(Date.now() + 50 * minuteMs)
      expect(login?.refreshExpiresAtMs).to.be.greaterThan(Date.now())
    }))

  it('is refreshed once after a 401, and the call is made again', () =>
    withCase(async ({ registry, save, whoami }) => {
      await save(60 * minuteMs)
      registry.access = 'something-else'
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['me', 'refresh', 'me'])
    }))

  it('is a service token, which is used as it is to its end', () =>
    withCase(async ({ registry, save, saved, whoami }) => {
      const accessToken = new Secret('svc_1234')
      await save(0, { accessToken, accessExpiresAtMs: undefined, refreshToken: undefined })
      registry.access = 'svc_1234'
      expect(await whoami()).to.equal('alice')
      expect(registry.calls).to.deep.equal(['me'])
      expect((await saved())?.accessToken?.reveal()).to.equal('svc_1234')
    }))

  it('is kept when the accounts server is away', () =>
    withCase(async ({ registry, save, saved, whoami }) => {
      await save(-minuteMs)
      registry.broken = true
      const secrets = [registry.access, registry.refresh]
      expect(expectNoLeak(await thrownBy(whoami), secrets).code).to.equal('registry_failed')
      expect((await saved())?.refreshToken?.reveal()).to.equal('srt_first')
    }))

  it('loses its tokens, and says how to log in, when the accounts server has ended it', () =>
    withCase(async ({ registry, save, saved, whoami, path }) => {
      const secrets = [registry.access, registry.refresh, 'svc_1234']
      registry.access = 'something-else'
      registry.refresh = 'something-else'
      for (const more of [
        {},
        { accessToken: new Secret('svc_1234'), accessExpiresAtMs: undefined },
      ]) {
        await save(-minuteMs, more)
        const failure = expectNoLeak(await thrownBy(whoami), secrets)
        expect(failure.code).to.equal('auth_required')
        expect(failure.message).to.include(path)
        expect(failure.hint).to.include(`service-cli login --registry ${registry.url}`)
        const { username, accessToken, refreshToken } = (await saved()) ?? {}
        expect([username, accessToken, refreshToken]).to.deep.equal(['alice', undefined, undefined])
      }
    }))

  it('is refreshed once by fifty commands that start at the same time', () =>
    withCase(async ({ registry, save, saved, whoami, path }) => {
      await save(-minuteMs)
      const names = await Promise.all(Array.from({ length: 50 }, whoami))
      expect(new Set(names)).to.deep.equal(new Set(['alice']))
      expect(registry.calls.filter(call => call === 'refresh')).to.have.length(1)
      expect((await saved())?.refreshToken?.reveal()).to.equal(registry.refresh)
      expect(statSync(path).mode & 0o777).to.equal(0o600)
    }))
})
