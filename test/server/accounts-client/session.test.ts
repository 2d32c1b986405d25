import { expect } from 'chai'
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { withSavedToken } from '../../../src/lib/accounts/token.ts'
import { readConfig, type SavedLogin, updateConfig } from '../../../src/lib/config/config-file.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { clientOf, expectNoLeak, jwt, sendJson, thrownBy, startAnswering } from './support.ts'

const hourMs = 3_600_000

/** A registry with tokens that are good for one refresh. */
async function startRotatingAccounts() {
  const state = {
    /** What is valid now. */
    access: jwt(Date.now() + hourMs, 'first'),
    refresh: 'srt_first',
    /** Everything answers 503. */
    broken: false,
    calls: [] as string[],
  }
  const { url } = await startAnswering(({ path, authorization, body }, res) => {
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
  })
  return Object.assign(state, { url })
}

const minuteMs = 60_000

async function startCase() {
  const registry = await startRotatingAccounts()
  const path = join(newFolder(), 'service-cli', 'config.toml')
  const { url, access, refresh } = registry
  return {
    registry,
    path,
    /** Saves what a login an hour ago left: valid for so long. */
    save: (leftMs: number, more?: SavedLogin) => {
      const login = {
        username: 'alice',
        access_token: new Secret(access),
        access_expires_at: Date.now() + leftMs,
        refresh_token: new Secret(refresh),
        ...more,
      }
      return updateConfig(path, config => {
        return { ...config, registries: { ...config.registries, [url]: login } }
      })
    },
    saved: async () => (await readConfig(path)).registries[url],
    /** Who is logged in, by the saved token, as a process of its own. */
    whoami: () => {
      const client = clientOf(url)
      return withSavedToken(client, path, async token => {
        return (await client.me(token)).username
      })
    },
  }
}

describe('a saved login', () => {
  it('is used without a lock and without a write while it is fresh', async () => {
    const { registry, save, whoami, path } = await startCase()
    await save(6 * minuteMs)
    rmSync(join(path, '..', 'config.lock'))
    expect(await whoami()).to.equal('alice')
    expect(registry.calls).to.deep.equal(['me'])
    expect(existsSync(join(path, '..', 'config.lock'))).to.equal(false)
  })

  it('is refreshed and saved when less than five minutes are left', async () => {
    const { registry, save, saved, whoami } = await startCase()
    await save(4 * minuteMs)
    expect(await whoami()).to.equal('alice')
    expect(registry.calls).to.deep.equal(['refresh', 'me'])
    const login = await saved()
    expect(login?.username).to.equal('alice')
    expect(login?.access_token?.reveal()).to.equal(registry.access)
    expect(login?.refresh_token?.reveal()).to.equal('srt_1')
    expect(login?.access_expires_at).to.be.greaterThan(Date.now() + 50 * minuteMs)
    expect(login?.refresh_expires_at).to.be.greaterThan(Date.now())
  })

  it('is refreshed once after a 401, and the call is made again', async () => {
    const { registry, save, whoami } = await startCase()
    await save(60 * minuteMs)
    registry.access = 'something-else'
    expect(await whoami()).to.equal('alice')
    expect(registry.calls).to.deep.equal(['me', 'refresh', 'me'])
  })

  it('is a service token, which is used as it is to its end', async () => {
    const { registry, save, saved, whoami } = await startCase()
    const access_token = new Secret('svc_1234')
    await save(0, { access_token, access_expires_at: undefined, refresh_token: undefined })
    registry.access = 'svc_1234'
    expect(await whoami()).to.equal('alice')
    expect(registry.calls).to.deep.equal(['me'])
    expect((await saved())?.access_token?.reveal()).to.equal('svc_1234')
  })

  it('is kept when the accounts server is away', async () => {
    const { registry, save, saved, whoami } = await startCase()
    await save(-minuteMs)
    registry.broken = true
    const secrets = [registry.access, registry.refresh]
    expect(expectNoLeak(await thrownBy(whoami), secrets).code).to.equal('registry_failed')
    expect((await saved())?.refresh_token?.reveal()).to.equal('srt_first')
  })

  it('loses its tokens, and says how to log in, when the accounts server has ended it', async () => {
    const { registry, save, saved, whoami, path } = await startCase()
    const secrets = [registry.access, registry.refresh, 'svc_1234']
    registry.access = 'something-else'
    registry.refresh = 'something-else'
    for (const more of [
      {},
      { access_token: new Secret('svc_1234'), access_expires_at: undefined },
    ]) {
      await save(-minuteMs, more)
      const failure = expectNoLeak(await thrownBy(whoami), secrets)
      expect(failure.code).to.equal('auth_required')
      expect(failure.message).to.include(path)
      expect(failure.hint).to.include(`service-cli login --registry ${registry.url}`)
      const { username, access_token, refresh_token } = (await saved()) ?? {}
      expect([username, access_token, refresh_token]).to.deep.equal(['alice', undefined, undefined])
    }
  })

  it('is refreshed once by fifty commands that start at the same time', async () => {
    const { registry, save, saved, whoami, path } = await startCase()
    await save(-minuteMs)
    const names = await Promise.all(Array.from({ length: 50 }, whoami))
    expect(new Set(names)).to.deep.equal(new Set(['alice']))
    expect(registry.calls.filter(call => call === 'refresh')).to.have.length(1)
    expect((await saved())?.refresh_token?.reveal()).to.equal(registry.refresh)
    expect(statSync(path).mode & 0o777).to.equal(0o600)
  })
})
