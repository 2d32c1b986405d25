import { expect } from 'chai'
import { statSync } from 'node:fs'
import { expectEnd } from '../helpers/in-process.ts'
import {
  type AccountHome,
  type LiteralAccounts,
  createAccountHome,
  startLiteralAccounts,
} from '../helpers/account-home.ts'

const password = 'correct horse 41'

describe('service-cli against a registry that answers literally as the specification', () => {
  let registry: LiteralAccounts
  let home: AccountHome

  before(async () => {
    registry = await startLiteralAccounts()
    home = createAccountHome(registry.url)
    const made = await home.run(
      ['register', 'alice', '--email', 'alice@studio.example', '--password-stdin', '--json'],
      { input: `${password}\n` },
    )
    expect(made.code, made.stdout + made.stderr).to.equal(0)
    expect(JSON.parse(made.stdout)).to.include({
      registry: registry.url,
      username: 'alice',
      email: 'alice@studio.example',
      refresh_expires_at: null,
      saved_in: home.configPath,
      overridden_by: null,
    })
  })

  it('registers, logs in, and saves the token for its owner alone', () => {
    expect(registry.asked).to.include('POST /api/v1/auth/register')
    expect(statSync(home.configPath).mode & 0o777).to.equal(0o600)
    expect(home.config()).to.contain('username = "alice"').and.not.contain(password)
  })

  it('shows who is logged in, where the token came from and when it expires', async () => {
    const { code, stdout } = await home.run(['whoami'])
    expect(code).to.equal(0)
    expect(stdout.split('\n').slice(0, 4)).to.deep.equal([
      'username: alice',
      'email:    alice@studio.example',
      `registry: ${registry.url}`,
      `token:    from ${home.configPath}, ${stdout.match(/expires in 23 h 5\d min/)?.[0]}`,
    ])
  })

  it('takes the option before SERVICE_TOKEN before the file, wherever the option stands', async () => {
    const token = registry.secrets.at(-1) ?? ''
    const source = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
      const said = JSON.parse((await home.run([...args, '--json'], { env })).stdout)
      return said.source_name
    }
    const given = { SERVICE_TOKEN: token }
    expect(await source(['--token', token, 'whoami'], given)).to.equal('--token')
    expect(await source(['whoami', '--token', token], given)).to.equal('--token')
    expect(await source(['whoami'], given)).to.equal('SERVICE_TOKEN')
    expect(await source(['whoami'], { SERVICE_TOKEN: '' })).to.equal(home.configPath)
  })

  it('logs in with --password, warning of SERVICE_TOKEN', async () => {
    const args = ['login', 'alice', '--password', password]
    expectEnd(
      await home.run(args, { env: { SERVICE_TOKEN: 'something-else' } }),
      0,
      'logged in',
      'unset SERVICE_TOKEN',
    )
    expectEnd(
      await home.run(['login', 'alice', '--password-stdin'], { typed: [] }),
      2,
      'stdin is a terminal',
    )
  })

  it('ends with 4 and the command to run when the login has ended', async () => {
    registry.forgetTokens()
    expectEnd(await home.run(['whoami']), 4, 'service-cli login')
    await home.run(['login', 'alice', '--password-stdin'], { input: password })
  })

  it('saves a token from a pipe once the registry knows it', async () => {
    const other = createAccountHome(registry.url)
    const token = registry.secrets.at(-1) ?? ''
    expectEnd(await other.run(['login', '--token-stdin'], { input: 'nobodys-token\n' }), 4)
    expect(() => other.config()).to.throw('ENOENT')
    expectEnd(await other.run(['login', '--token-stdin'], { input: `${token}\n` }), 0)
    expect((await other.run(['whoami', '-q'])).stdout).to.contain('alice')
    expect(other.leaks(['nobodys-token', token])).to.deep.equal([])
  })

  it('logs out although the registry has no logout, and says so', async () => {
    const { code, stdout, stderr } = await home.run(['logout', '--json'])
    expect(code).to.equal(0)
    expect(JSON.parse(stdout)).to.include({ username: 'alice', revoked: false })
    expect(stderr).to.contain('answered POST /api/v1/auth/logout with status 404')
    expect((await home.run(['whoami'])).code).to.equal(4)
    expect((await home.run(['logout'])).stderr).to.contain('not logged in')
  })

  it('has shown no password and no token', () => {
    expect(registry.secrets).to.include(password)
    expect(home.leaks(registry.secrets)).to.deep.equal([])
  })
})
