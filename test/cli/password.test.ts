import { expect } from 'chai'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { type Passage, openPassage } from '../helpers/passage.ts'
import { type AccountsOwner, createAccountsOwner } from '../helpers/accounts-owner.ts'
import { cheapHashing } from '../helpers/accounts-caller.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

const passwords = ['correct horse 41', 'second horse 42', 'third horse 43', 'fourth horse 44']
const [first = '', second = '', third = '', fourth = ''] = passwords

describe('service-cli password', () => {
  let registry: RunningAccounts
  let passage: Passage
  let owner: AccountsOwner
  let home: AccountHome
  /** Another machine of the same person. */
  let elsewhere: AccountHome
  const secrets: string[] = [...passwords]

  const login = async (at: AccountHome, password: string) => {
    const { code } = await at.run(['login', 'alice', '--password-stdin'], { input: password })
    if (code === 0)
      for (const [, it = ''] of at.config().matchAll(/_token = "(.+)"/g)) secrets.push(it)
    return code
  }
  const whoami = async (at: AccountHome) => (await at.run(['whoami', '-q'])).code
  const change = (lines: string, env: NodeJS.ProcessEnv = {}, flags: readonly string[] = []) =>
    home.run(['password', '--password-stdin', ...flags], { input: lines, env })
  const reset = (code: string, password: string, flags: readonly string[] = []) =>
    home.run(['password', 'alice', '--code', '--password-stdin', ...flags], {
      input: `${code}\n${password}\n`,
    })
  const makeCode = async () => {
    const { code } = await owner.ask(['users', 'reset-code', 'alice'])
    secrets.push(code)
    return code
  }

  before(async () => {
    registry = await accountsInProcess({ flags: cheapHashing })
    owner = createAccountsOwner(registry.dataDir)
    passage = await openPassage(registry.url)
    home = createAccountHome(passage.url)
    elsewhere = createAccountHome(passage.url)
    const words = ['register', 'alice', '--email', 'alice@studio.example', '--password-stdin']
    const made = await home.run(words, { input: first })
    expect(made.code, made.stderr).to.equal(0)
    expect(await login(elsewhere, first)).to.equal(0)
  })

  after(async () => {
    await passage?.close()
    await registry?.stop()
    home?.remove()
    elsewhere?.remove()
  })

  it('changes nothing for a wrong current password, which is tried once', async () => {
    const before = home.config()
    const asked = passage.asked.length
    const { code, stderr } = await change(`not the password\n${second}\n`)
    expect(code).to.equal(4)
    expect(stderr).to.contain('the current password is wrong').and.contain('nothing has changed')
    expect(passage.asked.slice(asked)).to.deep.equal(['PUT /api/v1/auth/password'])
    expect(home.config()).to.equal(before)
    expect(await whoami(home)).to.equal(0)
  })

  it('does not blame a token that was given for a wrong password', async () => {
    const [, token = ''] = /access_token = "(.+)"/.exec(home.config()) ?? []
    const { code, stderr } = await change(`no\n${second}`, { SERVICE_TOKEN: token })
    expect(code).to.equal(4)
    expect(stderr).to.contain('current password').and.not.contain('SERVICE_TOKEN')
  })

  it('keeps this login, also when it is refreshed, and ends the others', async () => {
    const { code, stdout, stderr } = await change(`${first}\n${second}\n`, {}, ['--json'])
    expect(code, stdout).to.equal(0)
    expect(stderr).to.equal('')
    expect(JSON.parse(stdout)).to.deep.equal({
      registry: passage.url,
      changed: true,
      source: 'config',
      source_name: home.configPath,
    })
    expect(await whoami(home)).to.equal(0)
    const soon = new Date(Date.now() + 60_000).toISOString()
    const late = /access_expires_at = ".+"/
    writeFileSync(home.configPath, home.config().replace(late, `access_expires_at = "${soon}"`))
    expect(await whoami(home)).to.equal(0)
    expect(passage.asked.filter(route => route.endsWith('/refresh'))).to.have.length.at.least(1)
    expect(await whoami(elsewhere)).to.equal(4)
    expect(await login(elsewhere, first)).to.equal(4)
    expect(await login(elsewhere, second)).to.equal(0)
  })

  it('is refused with a service token, in the words of the registry', async () => {
    const made = await home.run(['token', 'create', 'ci'])
    const token = made.stdout.trim()
    secrets.push(token)
    home.remember({ ...made, stdout: '' })
    const { code, stderr } = await change(`${second}\n${third}\n`, { SERVICE_TOKEN: token })
    expect(code).to.equal(3)
    expect(stderr).to.contain('a service token cannot manage the account')
    expect(await login(elsewhere, second)).to.equal(0)
  })

  it('says why a new password is refused, with 3', async () => {
    const { code, stderr } = await change(`${second}\nshort\n`)
    expect(code).to.equal(3)
    expect(stderr).to.contain('new_password')
  })

  it('sets a new password with a code and logs in, once, ending every login before', async () => {
    const made = await owner.run(['users', 'reset-code', 'alice'])
    const code = made.stdout.trim()
    secrets.push(code)
    expect(made.stderr).to.contain('2 logins and 1 service token').and.contain('"ci"')
    const refused = await reset(code, 'short')
    expect(refused.code).to.equal(3)
    const asked = passage.asked.length
    const done = await reset(code, third, ['--json'])
    expect(done.code, done.stdout).to.equal(0)
    // The reset has ended the earlier login already.
    expect(passage.asked.slice(asked).filter(route => route.endsWith('/logout'))).to.be.empty
    const told = JSON.parse(done.stdout)
    expect(told).to.include({ registry: passage.url, username: 'alice', ended_sessions: 2 })
    expect(told.ended_tokens.map(({ name }: any) => name)).to.deep.equal(['ci'])
    expect(JSON.parse((await home.run(['token', 'list', '--json'])).stdout).tokens).to.have.length(
      0,
    )
    expect(await whoami(home)).to.equal(0)
    expect(await whoami(elsewhere)).to.equal(4)
    expect(await login(elsewhere, third)).to.equal(0)
    const again = await reset(code, fourth)
    expect(again.code).to.equal(4)
    expect(again.stderr).to.contain('makes a new code')
    expect(await whoami(home)).to.equal(0)
    expect(await login(elsewhere, third)).to.equal(0)
  })

  it('sets the password and says so when the login after it cannot be saved', async () => {
    const token = await home.run(['token', 'create', 'nightly'])
    secrets.push(token.stdout.trim())
    home.remember({ ...token, stdout: '' })
    const code = await makeCode()
    const broken = createAccountHome(passage.url)
    try {
      mkdirSync(join(dirname(broken.configPath), 'config.lock'), { recursive: true, mode: 0o700 })
      const args = ['password', 'alice', '--code', '--password-stdin']
      const { code: exit, stderr } = await broken.run(args, { input: `${code}\n${fourth}` })
      expect(exit).to.equal(2)
      expect(stderr).to.match(/2 logins and 1 service token ended\n.*"nightly"/)
      expect(stderr).to.contain('the new password is set').and.contain('run.js login alice')
    } finally {
      broken.remove()
    }
    expect(await login(home, fourth)).to.equal(0)
  })

  it('tells the owner the command that uses the code, without the code on stderr', async () => {
    const { stdout, stderr } = await owner.run(['users', 'reset-code', 'alice'])
    secrets.push(stdout.trim())
    expect(stderr).to.contain('run.js password alice --code')
  })

  it('has shown no password, token or code, and neither has the registry', () => {
    expect(secrets).to.have.length.greaterThan(10)
    const real = secrets.filter(secret => secret !== '')
    // The one output that a service token stands in is that of the command that makes it.
    expect([...new Set(home.leaks(real))]).to.deep.equal(['output of token'])
    expect(elsewhere.leaks(real)).to.deep.equal([])
    const said = registry.stderr() + owner.said()
    expect(real.filter(secret => said.includes(secret))).to.deep.equal([])
  })
})
