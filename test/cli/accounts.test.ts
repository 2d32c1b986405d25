import { expect } from 'chai'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expectEnd } from '../helpers/in-process.ts'
import {
  type AccountHome,
  type RecordingProxy,
  createAccountHome,
  openRecordingProxy,
} from '../helpers/account-home.ts'
import { type RunningAccounts, createAccountsOwner, createCaller } from '../helpers/accounts.ts'
import { freePort } from '../helpers/free-port.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

const password = 'correct horse 41'

describe('service-cli against its own registry', () => {
  let registry: RunningAccounts
  let proxy: RecordingProxy
  let home: AccountHome
  const login = async (at = home, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) => {
    const args = ['login', 'alice', '--password-stdin', ...flags]
    expectEnd(await at.run(args, { input: password, env }), 0)
  }
  const json = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    JSON.parse((await home.run([...args, '--json'], { env })).stdout)
  const savedAccess = () => /access_token = "(.+)"/.exec(home.config())?.[1] ?? ''

  before(async () => {
    registry = await accountsInProcess()
    proxy = await openRecordingProxy(registry.url)
    home = createAccountHome(proxy.url)
    const words = ['register', 'alice', '--email', 'alice@studio.example', '--password-stdin']
    expectEnd(await home.run(words, { input: `${password}\n` }), 0)
  })

  it('shows the login with its team and both expiries', async () => {
    await createAccountsOwner(registry.dataDir).ask(['users', 'set', 'alice', '--team=fx'])
    const { expires_at, refresh_expires_at, ...rest } = await json(['whoami'])
    expect(rest).to.deep.equal({
      registry: proxy.url,
      username: 'alice',
      email: 'alice@studio.example',
      team: 'fx',
      source: 'config',
      source_name: home.configPath,
      scopes: ['account', 'read', 'publish'],
      token_name: null,
    })
    expect(Date.parse(expires_at)).to.be.within(Date.now() + 86_000_000, Date.now() + 86_400_000)
    expect(Date.parse(refresh_expires_at)).to.be.greaterThan(Date.now() + 29 * 86_400_000)
  })

  it('makes a token for a pipeline, which works there alone, and revokes it', async () => {
    const made = await home.run(['token', 'create', 'ci', '--scope', 'publish', '--days', '30'])
    expect(made.code, made.stderr).to.equal(0)
    expect(made.stdout).to.match(/^svc_\S+\n$/)
    expect(made.stderr).to.contain('"ci"').and.contain('publish; expires in 30 days')
    const token = made.stdout.trim()
    const env = { SERVICE_TOKEN: token }

    const pipeline = createAccountHome(proxy.url)
    const who = JSON.parse((await pipeline.run(['whoami', '--json'], { env })).stdout)
    expect(who).to.include({ username: 'alice', source: 'variable', token_name: 'ci' })
    expect(who.scopes).to.deep.equal(['publish'])
    expect((await pipeline.run(['publish'], { env })).code).to.equal(3)
    expect((await pipeline.run(['token', 'create', 'more'], { env })).code).to.equal(3)
    expect(() => pipeline.config()).to.throw('ENOENT')

    const { tokens: listed } = await json(['token', 'list'])
    expect(listed).to.have.length(1)
    expect(listed[0]).to.include({ name: 'ci' }).and.not.have.property('token')
    expect((await home.run(['token', 'revoke', 'ci'])).code).to.equal(0)
    expect((await pipeline.run(['whoami'], { env })).code).to.equal(4)
    expect(pipeline.leaks([token])).to.deep.equal([])
    expect((await home.run(['token', 'revoke', 'ci'])).code).to.equal(3)
    expect((await home.run(['token', 'list'])).stderr).to.contain('no service tokens')
  })

  it('revokes by id where several tokens have a name', async () => {
    for (const _ of [1, 2]) await home.run(['token', 'create', 'render'])
    const { tokens } = await json(['token', 'list'])
    const [one, other] = tokens.map(({ id }: { id: string }) => id)
    expectEnd(await home.run(['token', 'revoke', 'render']), 2, one, other)
    expect((await home.run(['token', 'revoke', one])).stderr).to.contain('is revoked')
    expect((await json(['token', 'list'])).tokens).to.have.length(1)
    expect((await home.run(['token', 'revoke', 'render'])).code).to.equal(0)
  })

  it('prints the token in use', async () => {
    const printed = (await json(['token', 'print'])).token
    expect(await createCaller(registry.url).me(printed)).to.equal('200')
    const given = await json(['token', 'print'], { SERVICE_TOKEN: 'svc_given' })
    expect(given).to.include({ token: 'svc_given', source: 'variable' })
  })

  it('needs no home folder and no valid config.toml for a given token', async () => {
    const token = savedAccess()
    const path = join(home.folder, 'token')
    writeFileSync(path, token, { mode: 0o600 })
    const broken = createAccountHome(proxy.url)
    mkdirSync(dirname(broken.configPath), { mode: 0o700 })
    writeFileSync(broken.configPath, 'not = = TOML', { mode: 0o600 })
    const ways: [args: readonly string[], env: NodeJS.ProcessEnv][] = [
      [['whoami'], { SERVICE_TOKEN: token }],
      [['whoami', '--token', token], {}],
      [['whoami'], { SERVICE_TOKEN_FILE: path }],
    ]
    for (const [args, env] of ways) {
      const { code, stdout, stderr } = await broken.run(args, { env })
      expect([code, stdout], stderr).to.deep.equal([0, (await home.run(args, { env })).stdout])
      expect(stderr).to.contain(`${broken.configPath}:1:`).and.contain('not used')
      for (const HOME of ['', 'relative']) {
        const homeless = { ...env, HOME, XDG_CONFIG_HOME: '' }
        const ended = await broken.run(args, { env: homeless })
        expect([ended.code, ended.stdout, ended.stderr]).to.deep.equal([0, stdout, ''])
      }
    }
    rmSync(broken.configPath)
    mkdirSync(broken.configPath)
    expectEnd(await broken.run(['whoami'], { env: { SERVICE_TOKEN: token } }), 0)
    expect((await broken.run(['whoami'])).code).to.equal(2)
    expect((await broken.run(['logout'], { env: { SERVICE_TOKEN: token } })).code).to.equal(2)
  })

  it('forgets the login when the registry cannot be reached, but for --all', async () => {
    const away = createAccountHome('http://127.0.0.1:1')
    const text = home.config().replaceAll(proxy.url, 'http://127.0.0.1:1')
    mkdirSync(dirname(away.configPath), { mode: 0o700 })
    writeFileSync(away.configPath, text, { mode: 0o600 })
    expect((await away.run(['whoami'])).code).to.equal(5)
    expect((await away.run(['logout', '--all'])).code).to.equal(5)
    expect(away.config()).to.contain('access_token = ')
    expectEnd(await away.run(['logout']), 0, 'warning: the token may work')
    expect((await away.run(['whoami'])).code).to.equal(4)
  })

  it('keeps logins to several registries, and uses the only one that is left', async () => {
    const several = { SERVICE_REGISTRY: '' }
    await login(home, ['--registry', registry.url], several)
    expect((await json(['whoami'], several)).registry).to.equal(proxy.url)
    const other = ['whoami', '--registry', registry.url]
    expect((await json(other, several)).registry).to.equal(registry.url)
    await home.run(['logout'], { env: several })
    expect((await json(['whoami'], several)).registry).to.equal(registry.url)
    await home.run(['logout'], { env: several })
  })

  it('logs out at the registry, and here', async () => {
    await login()
    const token = savedAccess()
    const out = await json(['logout'])
    expect(out).to.include({ username: 'alice', revoked: true, all: false })
    expectEnd(await home.run(['whoami'], { env: { SERVICE_TOKEN: token } }), 4)
    expect((await home.run(['whoami'])).code).to.equal(4)
  })

  it('logs in and registers with one request each', async () => {
    const asked = proxy.asked.length
    await login()
    const bob = ['register', 'bob', '--email', 'bob@studio.example', '--password-stdin']
    expect((await home.run(bob, { input: password })).code).to.equal(0)
    expect(proxy.asked.slice(asked)).to.deep.equal([
      'POST /api/v1/auth/login',
      'POST /api/v1/auth/register',
    ])
    expect(home.config()).to.contain('username = "bob"').and.contain('email = "bob@studio.example"')
    await login(home, ['--registry', proxy.url.replace('127.0.0.1', 'localhost')])
    expect(home.config()).to.contain('username = "alice"').and.contain('username = "bob"')
  })
})

describe('a registry that needs invitations', () => {
  it('is asked with the code that was typed, and it is said who makes one where none can be typed', async () => {
    const flags = ['--registration', 'invite']
    const registry = await accountsInProcess({ flags })
    const home = createAccountHome(registry.url)
    const bob = ['register', 'bob', '--email', 'bob@studio.example']
    const unasked = await home.run([...bob, '--password', password])
    expectEnd(unasked, 2, 'the invitation code is missing')
    expect(unasked.stderr).to.contain('registry users add')
    const { code: invite } = await createAccountsOwner(registry.dataDir).ask([
      'users',
      'add',
      'bob',
    ])
    const onTerminal = (code: string) =>
      home.run(bob, {
        typed: [
          { await: 'New password:', send: `${password}\r` },
          { await: 'again:', send: `${password}\r` },
          { await: 'nvitation code:', send: `${code} \r` },
        ],
      })
    expectEnd(await onTerminal('inv_wrong'), 3, 'invitation code is unknown')
    expectEnd(await onTerminal(invite), 0, 'registered bob')
    expect(home.leaks([invite, password])).to.deep.equal([])
  })
})

describe('a registry that other machines reach', () => {
  it('refuses a password that is too common, and another one is asked for', async () => {
    const port = await freePort()
    const reached = ['--public-url', 'https://registry.studio.example', '--registration', 'open']
    const flags = ['--port', String(port), ...reached]
    await accountsInProcess({ flags })
    const home = createAccountHome(`http://127.0.0.1:${port}`)
    const twice = (text: string) => [
      { await: 'New password:', send: `${text}\r` },
      { await: 'again:', send: `${text}\r` },
    ]
    const args = ['register', 'alice', '--email', 'alice@studio.example']
    expectEnd(await home.run([...args, '--password-stdin'], { input: 'password123' }), 3)
    const typed = [...twice('password123'), ...twice('12345678'), ...twice(password)]
    const made = await home.run(args, { typed })
    expect(made.code, made.stderr).to.equal(0)
    expect(made.stderr).to.contain('refused').and.contain('registered alice')
    const changed = await home.run(['password'], {
      typed: [
        { await: 'Current password:', send: `${password}\r` },
        ...twice('password123'),
        ...twice('another honest phrase'),
      ],
    })
    expect(changed.code, changed.stderr).to.equal(0)
    expect(home.leaks([password, 'password123'])).to.deep.equal([])
  })
})
