import { expect } from 'chai'
import { writeFileSync } from 'node:fs'
import { expectEnd } from '../helpers/in-process.ts'
import {
  type AccountHome,
  type RecordingProxy,
  createAccountHome,
  openRecordingProxy,
} from '../helpers/account-home.ts'
import {
  type AccountsOwner,
  type RunningAccounts,
  createAccountsOwner,
} from '../helpers/accounts.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

const first = 'correct horse 41'
const second = 'second horse 42'
const third = 'third horse 43'
const fourth = 'fourth horse 44'

describe('service-cli password', () => {
  let registry: RunningAccounts
  let proxy: RecordingProxy
  let owner: AccountsOwner
  let home: AccountHome
  /** Another machine of the same person. */
  let elsewhere: AccountHome

  const login = async (at: AccountHome, password: string) => {
    const { code } = await at.run(['login', 'alice', '--password-stdin'], { input: password })
    return code
  }
  const whoami = async (at: AccountHome) => (await at.run(['whoami', '-q'])).code
  const change = (lines: string, env: NodeJS.ProcessEnv = {}, flags: readonly string[] = []) =>
    home.run(['password', '--password-stdin', ...flags], { input: lines, env })
  const reset = (code: string, password: string, flags: readonly string[] = []) =>
    home.run(['password', 'alice', '--code', '--password-stdin', ...flags], {
      input: `${code}\n${password}\n`,
    })

  before(async () => {
    registry = await accountsInProcess()
    owner = createAccountsOwner(registry.dataDir)
    proxy = await openRecordingProxy(registry.url)
    home = createAccountHome(proxy.url)
    elsewhere = createAccountHome(proxy.url)
    const words = ['register', 'alice', '--email', 'alice@studio.example', '--password-stdin']
    expectEnd(await home.run(words, { input: first }), 0)
    expect(await login(elsewhere, first)).to.equal(0)
  })

  it('changes nothing for a wrong current password, which is tried once', async () => {
    const before = home.config()
    const asked = proxy.asked.length
    expectEnd(await change(`not the password\n${second}\n`), 4, 'the current password is wrong')
    expect(proxy.asked.slice(asked)).to.deep.equal(['PUT /api/v1/auth/password'])
    expect(home.config()).to.equal(before)
    expect(await whoami(home)).to.equal(0)
  })

  it('refuses anything but two lines on stdin, and repeats neither', async () => {
    for (const text of [first, `\n${second}\n`, `${first}\n${second}\n${third}\n`]) {
      const { code, stderr } = await change(text)
      expect(code).to.equal(2)
      expect(stderr).to.contain('the first line is the current password, the second the new')
      expect(stderr).not.to.contain('horse')
    }
  })

  it('asks for the current password, and twice for the new one, and shows neither', async () => {
    const { code, stderr } = await home.run(['password'], {
      typed: [
        { await: 'Current password:', send: `${first}\r` },
        { await: 'New password:', send: `${fourth}\r` },
        { await: 'again:', send: 'another\r' },
        { await: 'New password:', send: `${fourth}\r` },
        { await: 'again:', send: `${fourth}\r` },
      ],
    })
    expect(code, stderr).to.equal(0)
    expect(stderr).to.contain('is changed')
    for (const typed of [first, fourth, 'another']) expect(stderr).not.to.contain(typed)
    expect((await change(`${fourth}\n${first}`)).code).to.equal(0)
    expect(await login(elsewhere, first)).to.equal(0)
  })

  it('keeps this login, also when it is refreshed, and ends the others', async () => {
    const { code, stdout, stderr } = await change(`${first}\n${second}\n`, {}, ['--json'])
    expect(code, stdout).to.equal(0)
    expect(stderr).to.equal('')
    expect(JSON.parse(stdout)).to.deep.equal({
      registry: proxy.url,
      changed: true,
      source: 'config',
      source_name: home.configPath,
    })
    expect(await whoami(home)).to.equal(0)
    const soon = new Date(Date.now() + 60_000).toISOString()
    const late = /access_expires_at = ".+"/
    writeFileSync(home.configPath, home.config().replace(late, `access_expires_at = "${soon}"`))
    expect(await whoami(home)).to.equal(0)
    expect(proxy.asked.filter(route => route.endsWith('/refresh'))).to.have.length.at.least(1)
    expect(await whoami(elsewhere)).to.equal(4)
    expect(await login(elsewhere, first)).to.equal(4)
    expect(await login(elsewhere, second)).to.equal(0)
  })

  it('sets a new password with a code and logs in, once, after every login before has ended', async () => {
    await home.run(['token', 'create', 'ci'])
    const made = await owner.run(['users', 'reset-code', 'alice'])
    const code = made.stdout.trim()
    expect(made.stderr).to.contain('2 logins and 1 service token').and.contain('"ci"')
    expectEnd(await reset(code, 'short'), 3, 'new_password')
    const asked = proxy.asked.length
    const done = await reset(code, third, ['--json'])
    expect(done.code, done.stdout).to.equal(0)
    // The reset has ended the earlier login already.
    expect(proxy.asked.slice(asked).filter(route => route.endsWith('/logout'))).to.be.empty
    const told = JSON.parse(done.stdout)
    expect(told).to.include({ registry: proxy.url, username: 'alice' })
    expect(await whoami(home)).to.equal(0)
    expect(await whoami(elsewhere)).to.equal(4)
    expect(await login(elsewhere, third)).to.equal(0)
    expectEnd(await reset(code, fourth), 4)
    expect(await whoami(home)).to.equal(0)
    expect(await login(elsewhere, third)).to.equal(0)
  })
})
