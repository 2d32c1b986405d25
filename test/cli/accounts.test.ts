import { expect } from 'chai'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { cheapHashing, createCaller } from '../helpers/accounts-caller.ts'
import { createAccountsOwner } from '../helpers/accounts-owner.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'
import { type Passage, openPassage } from '../helpers/passage.ts'

const password = 'correct horse 41'

describe('service-cli against its own registry', () => {
  let registry: RunningAccounts
  let passage: Passage
  let home: AccountHome
  const login = async (at = home, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) => {
    const args = ['login', 'alice', '--password-stdin', ...flags]
    const ended = await at.run(args, { input: password, env })
    expect(ended.code, ended.stderr).to.equal(0)
  }
  const json = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    JSON.parse((await home.run([...args, '--json'], { env })).stdout)
  const savedAccess = () => /access_token = "(.+)"/.exec(home.config())?.[1] ?? ''

  before(async () => {
    registry = await accountsInProcess({ flags: cheapHashing })
    passage = await openPassage(registry.url)
    home = createAccountHome(passage.url)
    const words = ['register', 'alice', '--email', 'alice@studio.example', '--password-stdin']
    const made = await home.run(words, { input: `${password}\n` })
    expect(made.code, made.stderr).to.equal(0)
  })

  after(async () => {
    await passage?.close()
    await registry?.stop()
    home?.remove()
  })

  it('shows the login with its team and both expiries', async () => {
    await createAccountsOwner(registry.dataDir).ask(['users', 'set', 'alice', '--team=fx'])
    const { expires_at, refresh_expires_at, ...rest } = await json(['whoami'])
    expect(rest).to.deep.equal({
      registry: passage.url,
      username: 'alice',
      email: 'alice@studio.example',
      team: 'fx',
      verified: true,
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
    expect(made.stderr).to.contain('"ci"').and.contain('publish; expires in 29 days')
    const token = made.stdout.trim()
    const env = { SERVICE_TOKEN: token }

    const pipeline = createAccountHome(passage.url)
    try {
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
    } finally {
      pipeline.remove()
    }
    expect((await home.run(['token', 'revoke', 'ci'])).code).to.equal(3)
    expect((await home.run(['token', 'list'])).stderr).to.contain('no service tokens')
  })

  it('revokes the newest token of a name: at once in a script, after a question on a terminal', async () => {
    for (const _ of [1, 2, 3]) await home.run(['token', 'create', 'render'])
    const ids = async () => {
      const { tokens: listed } = await json(['token', 'list'])
      return listed.map(({ id }: { id: string }) => id).toSorted()
    }
    const [oldest, middle, newest] = await ids()
    const said = await home.run(['token', 'revoke', 'render'])
    expect(said.stderr).to.contain(newest).and.contain(oldest)
    expect(await ids()).to.deep.equal([oldest, middle])
    const onTerminal = (send: string) =>
      home.run(['token', 'revoke', 'render'], { typed: [{ await: 'Revoke the newest', send }] })
    expect((await onTerminal('n\r')).stderr).to.contain('nothing was revoked')
    expect(await ids()).to.deep.equal([oldest, middle])
    expect((await onTerminal('y\r')).stderr).to.contain('is revoked')
    expect(await ids()).to.deep.equal([oldest])
  })

  it('prints the token in use', async () => {
    const printed = (await json(['token', 'print'])).token
    expect(await createCaller(registry.url).me(printed)).to.equal('200')
    const given = await json(['token', 'print'], { SERVICE_TOKEN: 'svc_given' })
    expect(given).to.include({ token: 'svc_given', source: 'variable' })
  })

  it('reads SERVICE_TOKEN_FILE', async () => {
    const path = join(home.folder, 'token')
    const env = { SERVICE_TOKEN_FILE: path }
    writeFileSync(path, `${savedAccess()}\n`, { mode: 0o600 })
    expect(await json(['whoami'], env)).to.include({ source: 'token_file', verified: true })
    writeFileSync(path, '')
    expect((await home.run(['whoami'], { env })).code).to.equal(2)
  })

  it('shows the saved login when the registry cannot be reached, with 5', async () => {
    const away = createAccountHome('http://127.0.0.1:1')
    try {
      const text = home.config().replaceAll(passage.url, 'http://127.0.0.1:1')
      mkdirSync(dirname(away.configPath), { mode: 0o700 })
      writeFileSync(away.configPath, text, { mode: 0o600 })
      const asked = await away.run(['whoami'])
      expect(asked.code).to.equal(5)
      expect(asked.stdout).to.contain('alice (saved, not verified)')
      expect(asked.stderr).to.contain('ECONNREFUSED')
      const told = JSON.parse((await away.run(['whoami', '--json'])).stdout)
      expect(told).to.include({ username: 'alice', verified: false })
      expect(told.error.code).to.equal('network_failed')
      const gone = await away.run(['logout'])
      expect(gone.code).to.equal(0)
      expect(gone.stderr).to.contain('warning: the token was deleted here')
      expect((await away.run(['whoami'])).code).to.equal(4)
    } finally {
      away.remove()
    }
  })

  it('keeps logins to several registries, and uses the only one that is left', async () => {
    const several = { SERVICE_REGISTRY: '' }
    await login(home, ['--registry', registry.url], several)
    expect((await json(['whoami'], several)).registry).to.equal(passage.url)
    const other = ['whoami', '--registry', registry.url]
    expect((await json(other, several)).registry).to.equal(registry.url)
    const { stderr } = await home.run(['logout'], { env: several })
    expect(stderr).to.contain(`commands now go to ${registry.url}`)
    expect((await json(['whoami'], several)).registry).to.equal(registry.url)
    await home.run(['logout'], { env: several })
  })

  it('logs out at the registry, and here', async () => {
    await login()
    const token = savedAccess()
    const out = await json(['logout'])
    expect(out).to.include({ username: 'alice', revoked: true, all: false })
    const after = await home.run(['whoami'], { env: { SERVICE_TOKEN: token } })
    expect(after.code).to.equal(4)
    expect((await home.run(['whoami'])).code).to.equal(4)
  })

  it('ends the session again when it cannot be saved', async () => {
    const broken = createAccountHome(passage.url)
    try {
      mkdirSync(join(dirname(broken.configPath), 'config.lock'), { recursive: true, mode: 0o700 })
      const ended = await broken.run(['login', 'alice', '--password-stdin'], { input: password })
      expect(ended.code).to.equal(1)
      expect(passage.asked.at(-1)).to.equal('POST /api/v1/auth/logout')
    } finally {
      broken.remove()
    }
  })

  it('reads the saved login through a link of its owner', async () => {
    await login()
    const dotfile = join(home.folder, 'dotfile.toml')
    renameSync(home.configPath, dotfile)
    symlinkSync(dotfile, home.configPath)
    try {
      expect((await json(['whoami'])).username).to.equal('alice')
    } finally {
      renameSync(dotfile, home.configPath)
    }
  })
})

describe('a registry that needs invitations', () => {
  it('is asked with the code that was typed, and it is said who makes one where none can be typed', async () => {
    const flags = [...cheapHashing, '--registration', 'invite']
    const registry = await accountsInProcess({ flags })
    const home = createAccountHome(registry.url)
    try {
      const bob = ['register', 'bob', '--email', 'bob@studio.example']
      const unasked = await home.run([...bob, '--password', password])
      expect(unasked.code).to.equal(3)
      expect(unasked.stderr).to.contain('is required').and.contain('registry users add')
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
            { await: 'nvitation code:', send: `${code}\r` },
          ],
        })
      const wrong = await onTerminal('inv_wrong')
      expect(wrong.code).to.equal(3)
      expect(wrong.stderr).to.contain('invitation code is unknown')
      const { code, stderr } = await onTerminal(invite)
      expect(code, stderr).to.equal(0)
      expect(stderr).to.contain('registered bob')
      expect(home.leaks([invite, password])).to.deep.equal([])
    } finally {
      await registry.stop()
      home.remove()
    }
  })
})
