import { expect } from 'chai'
import { existsSync, mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { root } from '../helpers/program.ts'
import { runOnTerminal, whyNoTerminal } from '../helpers/pseudo-terminal.ts'
import { createCaller, password, quickLimits } from '../helpers/accounts-caller.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

describe('several logins of one person', () => {
  let first: RunningAccounts
  let second: RunningAccounts
  let home: AccountHome

  before(async () => {
    first = await accountsInProcess({ flags: quickLimits })
    second = await accountsInProcess({ flags: quickLimits })
    for (const { url } of [first, second]) {
      await createCaller(url).register('alice')
      await createCaller(url).register('bob')
    }
  })

  after(async () => {
    await first?.stop()
    await second?.stop()
  })

  // The registry is not named: what is saved decides.
  beforeEach(() => void (home = createAccountHome('')))
  afterEach(() => home.remove())

  const run = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const ended = await home.run(args, { env })
    expect(ended.code, ended.stderr).to.equal(0)
    return ended
  }
  const login = async (name: string, { url }: RunningAccounts) => {
    const args = ['login', name, '--password-stdin', '--registry', url]
    const ended = await home.run(args, { input: password })
    expect(ended.code, ended.stderr).to.equal(0)
    return ended.stderr
  }
  const whoami = async () => JSON.parse((await run(['whoami', '--json'])).stdout)

  it('uses the only login that is left after a logout of the default registry', async () => {
    await login('alice', first)
    await login('bob', second)
    expect((await whoami()).registry).to.equal(first.url)
    expect((await run(['logout'])).stderr).to.contain(`commands now go to ${second.url}`)
    const { registry, username } = await whoami()
    expect([registry, username]).to.deep.equal([second.url, 'bob'])
  })

  it('prints the token in use', async () => {
    await login('alice', first)
    const { stdout } = await run(['token', 'print'])
    expect(await createCaller(first.url).me(stdout.trim())).to.equal('200')
    const given = await run(['token', 'print'], { SERVICE_TOKEN: 'svc_given' })
    expect(given.stdout).to.equal('svc_given\n')
  })

  it('revokes the newest token of a name: at once in a script, after a question on a terminal', async function () {
    await login('alice', first)
    for (const _ of [1, 2, 3]) await run(['token', 'create', 'ci'])
    const ids = async () => {
      const { tokens } = JSON.parse((await run(['token', 'list', '--json'])).stdout)
      return tokens.map(({ id }: { id: string }) => id).toSorted()
    }
    const [oldest, middle, newest] = await ids()
    const said = await run(['token', 'revoke', 'ci'])
    expect(said.stderr).to.contain(newest).and.contain(oldest)
    expect(await ids()).to.deep.equal([oldest, middle])
    const why = whyNoTerminal()
    if (why !== null) skipBecause(this, why)
    const onTerminal = (answer: string) =>
      runOnTerminal(['token', 'revoke', 'ci'], {
        env: home.env(),
        steps: [{ await: 'Revoke the newest', send: answer }],
      })
    expect((await onTerminal('n\r')).stdout).to.contain('nothing was revoked')
    expect(await ids()).to.deep.equal([oldest, middle])
    expect((await onTerminal('y\r')).stdout).to.contain('is revoked')
    expect(await ids()).to.deep.equal([oldest])
  })

  for (const HOME of ['', 'relative']) {
    it(`refuses HOME="${HOME}" and writes nothing below the working directory`, async () => {
      const args = ['login', 'alice', '--password-stdin', '--registry', first.url]
      const env = { HOME, XDG_CONFIG_HOME: '' }
      const { code, stderr } = await home.run(args, { env, input: password })
      expect(code, stderr).to.equal(2)
      expect(stderr).to.contain('HOME is')
      expect(existsSync(join(root, HOME, '.config'))).to.equal(false)
      expect((await home.run(['registry', 'users', 'list'], { env })).stderr).to.contain('HOME is')
    })
  }

  it('reads settings through a link when the token is given, and saves no login there', async () => {
    await login('alice', first)
    const token = /access_token = "(.+)"/.exec(home.config())?.[1] ?? ''
    const dotfiles = join(home.folder, 'dotfiles')
    mkdirSync(dotfiles)
    renameSync(home.configPath, join(dotfiles, 'config.toml'))
    symlinkSync(join(dotfiles, 'config.toml'), home.configPath)
    const { stdout } = await run(['whoami', '--json'], { SERVICE_TOKEN: token })
    expect(JSON.parse(stdout)).to.include({ registry: first.url, username: 'alice' })
    const { code, stderr } = await home.run(['whoami'])
    expect(code).to.equal(2)
    expect(stderr).to.contain('symbolic link').and.contain(dirname(home.configPath))
  })
})
