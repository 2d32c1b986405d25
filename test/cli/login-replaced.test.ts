import { expect } from 'chai'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { type Passage, openPassage } from '../helpers/passage.ts'
import { createCaller, password } from '../helpers/accounts-caller.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { until } from '../helpers/until.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

describe('a login that takes the place of another', () => {
  let registry: RunningAccounts
  let passage: Passage
  let home: AccountHome
  let caller: ReturnType<typeof createCaller>

  before(async () => {
    registry = await accountsInProcess()
    passage = await openPassage(registry.url)
    caller = createCaller(registry.url)
    await caller.register('alice')
    await caller.register('bob')
  })

  beforeEach(() => void (home = createAccountHome(passage.url)))
  afterEach(() => home.remove())

  after(async () => {
    await passage?.close()
    await registry?.stop()
  })

  const login = async (args: readonly string[], input = password) => {
    const ended = await home.run(['login', ...args], { input })
    expect(ended.code, ended.stderr).to.equal(0)
    expect(ended.stderr).not.to.contain('warning')
  }
  const saved = (name: string) =>
    new RegExp(`${name}_token = "(.+)"`).exec(home.config())?.[1] ?? expect.fail('not saved')
  const refreshes = async (token: string) => (await caller.refresh(token)).status

  it('ends the session of the one before, also that of another user', async () => {
    await login(['alice', '--password-stdin'])
    for (const name of ['alice@studio.example', 'bob']) {
      const old = saved('refresh')
      await login([name, '--password-stdin'])
      expect(await refreshes(old)).to.equal(401)
    }
    expect((await home.run(['whoami', '-q'])).stdout).to.contain('bob')
    expect(home.config()).not.to.contain('alice')
  })

  it('ends it also when its token has expired meanwhile', async () => {
    const limits = ['--limit', 'accessTokenMs=3000', '--bound=clockToleranceMs=0']
    const brief = await accountsInProcess({ flags: limits })
    try {
      const there = createCaller(brief.url)
      await there.register('alice')
      const args = ['alice', '--password-stdin', '--registry', brief.url]
      await login(args)
      const [access, old] = [saved('access'), saved('refresh')]
      await until(
        async () => (await there.me(access)) === '401 token-expired',
        'the token is too old',
      )
      await login(args)
      expect((await there.refresh(old)).status).to.equal(401)
      expect((await there.refresh(saved('refresh'))).status).to.equal(200)
    } finally {
      await brief.stop()
    }
  })

  it('leaves sessions at other registries alone', async () => {
    await login(['alice', '--password-stdin'])
    const old = saved('refresh')
    await login(['alice', '--password-stdin', '--registry', registry.url])
    expect(await refreshes(old)).to.equal(200)
  })

  it('leaves a token alone that was given, and what a given token takes the place of', async () => {
    const { json } = await caller.login('alice')
    await login(['--token-stdin'], json.access_token)
    await login(['alice', '--password-stdin'])
    expect(await refreshes(json.refresh_token)).to.equal(200)
    const old = saved('refresh')
    await login(['--token-stdin'], json.access_token)
    expect(await refreshes(old)).to.equal(200)
  })

  it('is saved all the same when the registry does not end the one before', async () => {
    await login(['alice', '--password-stdin'])
    const old = saved('access')
    expect((await caller.call('POST', '/logout', old, {})).status).to.equal(204)
    await login(['alice', '--password-stdin'])
    expect(passage.asked.at(-1)).to.equal('POST /api/v1/auth/logout')
    expect((await home.run(['whoami', '-q'])).stdout).to.contain('alice')
  })
})
