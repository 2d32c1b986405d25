import { expect } from 'chai'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { type Passage, openPassage } from '../helpers/passage.ts'
import { cheapHashing } from '../helpers/accounts-caller.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { runCommand } from '../helpers/in-process.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

const password = 'correct horse 41'

describe('service-cli against its own registry', () => {
  let registry: RunningAccounts
  let passage: Passage
  let home: AccountHome
  /** Every token that was ever saved or made. */
  const tokens: string[] = []

  const keep = () => {
    for (const [, token = ''] of home.config().matchAll(/_token = "(.+)"/g)) tokens.push(token)
  }
  const login = async () => {
    const ended = await home.run(['login', 'alice', '--password-stdin'], { input: password })
    expect(ended.code, ended.stderr).to.equal(0)
    keep()
  }

  before(async () => {
    registry = await accountsInProcess({ flags: cheapHashing })
    passage = await openPassage(registry.url)
    home = createAccountHome(passage.url)
    const made = await home.run(
      ['register', 'alice', '--email', 'alice@studio.example', '--password-stdin'],
      { input: `${password}\n` },
    )
    expect(made.code, made.stderr).to.equal(0)
    keep()
  })

  after(async () => {
    await passage?.close()
    await registry?.stop()
    home?.remove()
  })

  it('shows the login with its team and both expiries', async () => {
    const args = ['registry', 'users', 'set', 'alice', '--team=fx', '--data-dir', registry.dataDir]
    const set = await runCommand(args)
    expect(set.code, set.stderr).to.equal(0)
    const { code, stdout } = await home.run(['whoami', '--json'])
    expect(code).to.equal(0)
    const { expires_at, refresh_expires_at, ...rest } = JSON.parse(stdout)
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

      const listed = JSON.parse((await home.run(['token', 'list', '--json'])).stdout)
      expect(listed.tokens).to.have.length(1)
      expect(listed.tokens[0]).to.include({ name: 'ci' }).and.not.have.property('token')
      expect((await home.run(['token', 'revoke', 'ci'])).code).to.equal(0)
      expect((await pipeline.run(['whoami'], { env })).code).to.equal(4)
      expect(pipeline.leaks([token])).to.deep.equal([])
    } finally {
      pipeline.remove()
    }
    expect((await home.run(['token', 'revoke', 'ci'])).code).to.equal(3)
    expect((await home.run(['token', 'list'])).stderr).to.contain('no service tokens')
  })

  it('reads SERVICE_TOKEN_FILE, when nobody else can', async () => {
    await login()
    const path = join(home.folder, 'token')
    const [, token = ''] = /access_token = "(.+)"/.exec(home.config()) ?? []
    writeFileSync(path, `${token}\n`, { mode: 0o600 })
    const env = { SERVICE_TOKEN_FILE: path }
    const { stdout } = await home.run(['whoami', '--json'], { env })
    expect(JSON.parse(stdout)).to.include({ source: 'token_file', verified: true })
    writeFileSync(path, '')
    expect((await home.run(['whoami'], { env })).code).to.equal(2)
  })

  it('rotates once when three processes find the token about to end', async () => {
    const soon = new Date(Date.now() + 60_000).toISOString()
    const late = /access_expires_at = ".+"/
    writeFileSync(home.configPath, home.config().replace(late, `access_expires_at = "${soon}"`))
    const before = refreshes(passage)
    const ended = await Promise.all(
      Array.from({ length: 3 }, () => home.runProgram(['whoami', '-q'])),
    )
    for (const { code, stderr } of ended)
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(refreshes(passage)).to.equal(before + 1)
    keep()
    expect((await home.run(['whoami'])).code).to.equal(0)
    expect(refreshes(passage)).to.equal(before + 1)
  })

  it('shows the saved login when the registry cannot be reached, with 5', async () => {
    const away = createAccountHome('http://127.0.0.1:1')
    try {
      const nobody = await away.run(['whoami'])
      expect(nobody.code).to.equal(4)
      const text = home.config().replaceAll(passage.url, 'http://127.0.0.1:1')
      mkdirSync(dirname(away.configPath), { mode: 0o700 })
      writeFileSync(away.configPath, text, { mode: 0o600 })
      const asked = await away.run(['whoami'])
      expect(asked.code).to.equal(5)
      expect(asked.stdout).to.contain('alice (saved, not verified)')
      expect(asked.stderr).to.contain('ECONNREFUSED')
      const json = await away.run(['whoami', '--json'])
      expect(json.code).to.equal(5)
      expect(JSON.parse(json.stdout)).to.include({ username: 'alice', verified: false })
      expect(JSON.parse(json.stdout).error.code).to.equal('network_failed')
      const gone = await away.run(['logout'])
      expect(gone.code).to.equal(0)
      expect(gone.stderr).to.contain('warning: the token was deleted here')
      expect((await away.run(['whoami'])).code).to.equal(4)
      expect(away.leaks(tokens)).to.deep.equal([])
    } finally {
      away.remove()
    }
  })

  it('keeps logins to several registries side by side', async () => {
    const env = { SERVICE_REGISTRY: '' }
    const args = ['login', 'alice', '--password-stdin', '--registry', registry.url]
    expect((await home.run(args, { env, input: password })).code).to.equal(0)
    keep()
    const [first, second] = await Promise.all([
      home.run(['whoami', '--json'], { env }),
      home.run(['whoami', '--json', '--registry', registry.url], { env }),
    ])
    expect(JSON.parse(first.stdout).registry).to.equal(passage.url)
    expect(JSON.parse(second.stdout).registry).to.equal(registry.url)
    await home.run(['logout', '--registry', registry.url], { env })
    expect((await home.run(['whoami'], { env })).code).to.equal(0)
  })

  it('logs out at the registry, and here', async () => {
    const [, token = ''] = /access_token = "(.+)"/.exec(home.config()) ?? []
    const { code, stdout } = await home.run(['logout', '--json'])
    expect(code).to.equal(0)
    expect(JSON.parse(stdout)).to.include({ username: 'alice', revoked: true, all: false })
    const after = await home.run(['whoami'], { env: { SERVICE_TOKEN: token } })
    expect(after.code).to.equal(4)
    expect((await home.run(['whoami'])).code).to.equal(4)
  })

  it('ends every session with logout --all', async () => {
    await login()
    const elsewhere = createAccountHome(passage.url)
    try {
      await elsewhere.run(['login', 'alice', '--password-stdin'], { input: password })
      expect((await elsewhere.run(['whoami'])).code).to.equal(0)
      expect((await home.run(['logout', '--all'])).code).to.equal(0)
      expect((await elsewhere.run(['whoami'])).code).to.equal(4)
    } finally {
      elsewhere.remove()
    }
  })

  it('ends the session again when it cannot be saved', async () => {
    const broken = createAccountHome(passage.url)
    try {
      mkdirSync(join(dirname(broken.configPath), 'config.lock'), { recursive: true, mode: 0o700 })
      const ended = await broken.run(['login', 'alice', '--password-stdin'], { input: password })
      expect(ended.code).to.equal(2)
      expect(passage.asked.at(-1)).to.equal('POST /api/v1/auth/logout')
    } finally {
      broken.remove()
    }
  })

  it('has shown no password and no token, and neither has the registry', () => {
    expect(tokens).to.have.length.greaterThan(4)
    const secrets = [password, ...tokens]
    expect(home.leaks(secrets)).to.deep.equal([])
    expect(secrets.filter(secret => registry.stderr().includes(secret))).to.deep.equal([])
  })
})

function refreshes({ asked }: Passage): number {
  return asked.filter(route => route === 'POST /api/v1/auth/refresh').length
}
