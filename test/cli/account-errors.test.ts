import { expect } from 'chai'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { failureOf } from '../helpers/in-process.ts'
import { type LiteralAccounts, startLiteralAccounts } from '../helpers/literal-accounts.ts'

const secret = 'hunter22-hunter22'
const code = 'rst_hunter22-hunter22'
const closed = 'http://127.0.0.1:1'

interface Case {
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly code: number
  readonly says: string
}

const cases: Case[] = [
  { args: ['login', 'bob', secret], code: 2, says: 'unexpected argument' },
  { args: ['login', 'bob', `-p${secret}`], code: 2, says: 'nonexistent flag: -p' },
  { args: ['login', 'bob', `--pasword=${secret}`], code: 2, says: 'did you mean --password?' },
  { args: ['login', 'bob', '--password', ''], code: 2, says: '--password is empty' },
  { args: ['login', 'bob', `--password=${secret}`, '--password-stdin'], code: 2, says: 'not both' },
  { args: ['login', 'bob', '--no-input'], code: 2, says: '--password-stdin' },
  { args: ['login', '--no-input'], code: 2, says: 'username is missing' },
  { args: ['login', 'bob', '--token-stdin'], code: 2, says: 'with a user name' },
  { args: ['--token', secret, 'login', 'bob'], code: 2, says: 'nonexistent flag: --token' },
  { args: ['register', 'bob', '--token', secret], code: 2, says: 'nonexistent flag: --token' },
  { args: ['logout', '--token', secret], code: 2, says: 'nonexistent flag: --token' },
  { args: ['register', 'bob', '--no-input'], code: 2, says: 'email is missing' },
  { args: ['register', 'bob', secret], code: 2, says: 'unexpected argument' },
  { args: ['register', code], code: 2, says: 'not accepted as arguments' },
  { args: ['password', secret], code: 2, says: 'requires --code' },
  { args: ['password', 'bob', secret], code: 2, says: 'unexpected argument' },
  { args: ['password', '--password', secret], code: 2, says: 'nonexistent flag: --password' },
  { args: ['password', 'bob', '--code', secret], code: 2, says: 'unexpected argument' },
  { args: ['password', '--code', code], code: 2, says: 'not accepted as arguments' },
  { args: ['password', 'bob', '--code', '--token', secret], code: 2, says: 'takes no --token' },
  { args: ['password', '--code', '--no-input'], code: 2, says: 'username is missing' },
  { args: ['password', 'bob', '--code', '--no-input'], code: 2, says: '--no-input' },
  { args: ['password', '--no-input'], code: 4, says: 'not logged in' },
  { args: ['password', '--no-input', '--token', secret], code: 2, says: 'a line each' },
  { args: ['token', 'create', 'ci', '--days', '366'], code: 2, says: '--days' },
  { args: ['token', 'create', 'ci', '--scope', 'account'], code: 2, says: 'read, publish' },
  { args: ['token', 'create'], code: 2, says: 'missing 1 required arg' },
  { args: ['whoami', '--registry', 'http://studio.example'], code: 2, says: 'plain http' },
  { args: ['whoami', '--registry', `http://bob:${secret}@127.0.0.1`], code: 2, says: 'password' },
  { args: ['whoami', '--token', `${secret} `], code: 2, says: 'copy the token again' },
  { args: ['whoami'], env: { SERVICE_REGISTRY: 'nonsense' }, code: 2, says: 'SERVICE_REGISTRY' },
  { args: ['whoami'], env: { SERVICE_TOKEN: `a\n${secret}` }, code: 2, says: 'SERVICE_TOKEN' },
  { args: ['whoami'], env: { SERVICE_TOKEN_FILE: '/none' }, code: 2, says: 'SERVICE_TOKEN_FILE' },
  { args: ['whoami'], code: 4, says: 'service-cli login' },
  { args: ['token', 'list'], code: 4, says: 'SERVICE_TOKEN' },
  { args: ['publish'], code: 4, says: 'not logged in' },
  { args: ['publish', '--token', secret], code: 3, says: 'offers no publishing' },
  { args: ['token', 'revoke', secret, '--token', 'x'], code: 3, says: 'does not offer' },
  { args: ['whoami', '--token', secret], code: 4, says: '--token' },
  { args: ['login', 'bob', '--password', secret], code: 4, says: 'refused the login' },
  {
    args: ['login', 'bob', '--password', secret, '--registry', closed],
    code: 5,
    says: 'ECONNREFUSED',
  },
]

describe('errors of the account commands', () => {
  let registry: LiteralAccounts
  let home: AccountHome

  before(async () => {
    registry = await startLiteralAccounts()
    home = createAccountHome(registry.url)
  })

  after(async () => {
    await registry.close()
    home.remove()
  })

  for (const { args, code, says, env } of cases) {
    const name = [...Object.keys(env ?? {}), ...args].join(' ').replaceAll(secret, 'SECRET')
    it(`end with ${code} for ${name}, saying "${says}" as text and as JSON`, async () => {
      const failed = await failureOf(args, home.env(env))
      const { text, json } = failed ?? expect.fail('it did not fail')
      expect(text.exitCode, text.stderr).to.equal(code)
      expect(json.exitCode).to.equal(code)
      expect(text.stdout).to.equal('')
      expect(text.stderr)
        .to.match(/^error: .+\n(hint: .+\n)?$/)
        .and.contain(says)
      expect(json.stderr).to.equal('')
      const { error } = JSON.parse(json.stdout)
      expect(error.code).to.match(/^[a-z_]+$/)
      expect(`${error.message} ${error.hint}`).to.contain(says)
      expect(text.stderr + json.stdout).not.to.contain(secret)
    })
  }

  it('end with 6 and the time to wait when there were too many tries', async () => {
    registry.refuseNext(429, { 'Retry-After': '7' })
    const failed = await failureOf(['login', 'bob', '--password', secret], home.env())
    expect(failed?.text.exitCode).to.equal(6)
    expect(failed?.text.stderr).to.contain('7 s')
  })

  it('end with 1 when the registry fails', async () => {
    registry.refuseNext(500)
    const failed = await failureOf(['login', 'bob', '--password', secret], home.env())
    expect(failed?.text.exitCode).to.equal(1)
  })

  it('take a ca_file as relative to the configuration file', async () => {
    const other = createAccountHome(registry.url)
    try {
      mkdirSync(dirname(other.configPath), { recursive: true, mode: 0o700 })
      const text = `[registries."${registry.url}"]\nca_file = "studio.pem"\n`
      writeFileSync(other.configPath, text, { mode: 0o600 })
      const failed = await failureOf(['whoami', '--token', secret], other.env())
      const path = join(dirname(other.configPath), 'studio.pem')
      expect(failed?.text.stderr).to.contain(`ca_file ${path} cannot be read: no such file`)
    } finally {
      other.remove()
    }
  })

  it('leave nothing behind', () => {
    expect(readdirSync(home.folder, { recursive: true })).to.deep.equal([])
  })
})
