import { expect } from 'chai'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expectEnd } from '../helpers/in-process.ts'
import {
  type AccountHome,
  type LiteralAccounts,
  createAccountHome,
  startLiteralAccounts,
} from '../helpers/account-home.ts'

const secret = 'hunter22-hunter22'
const closed = 'http://127.0.0.1:1'

interface Case {
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly input?: string
  readonly code: number
  readonly says: string
}

const cases: Case[] = [
  { args: ['login', 'bob', secret], code: 2, says: 'unexpected argument' },
  { args: ['login', 'bob', `--pasword=${secret}`], code: 2, says: 'did you mean --password?' },
  { args: ['login', 'bob', '--password', ''], code: 2, says: '--password is empty' },
  { args: ['login', 'bob', `--password=${secret}`, '--password-stdin'], code: 2, says: 'not both' },
  { args: ['login', 'bob', '--no-input'], code: 2, says: '--password-stdin' },
  { args: ['login', 'bob'], input: secret, code: 2, says: '--password-stdin' },
  { args: ['login', 'bob', '--password-stdin'], code: 2, says: 'stdin is empty' },
  { args: ['login', '--password-stdin'], input: secret, code: 2, says: 'username is missing' },
  { args: ['login', 'bob', '--token-stdin'], code: 2, says: 'with a user name' },
  { args: ['login', '--token-stdin'], input: `${secret} x`, code: 2, says: 'spaces' },
  { args: ['--token', secret, 'login', 'bob'], code: 2, says: 'nonexistent flag --token' },
  { args: ['register', 'bob', '--no-input'], code: 2, says: 'email is missing' },
  { args: ['password', secret], code: 2, says: 'requires --code' },
  { args: ['password', 'bob', '--code', '--token', secret], code: 2, says: 'takes no --token' },
  { args: ['password', '--code', '--no-input'], code: 2, says: 'username is missing' },
  { args: ['password', '--no-input', '--token', secret], code: 2, says: 'a line each' },
  { args: ['password'], code: 4, says: 'not logged in' },
  { args: ['token', 'create', 'ci', '--days', '366'], code: 2, says: '--days' },
  { args: ['token', 'create', 'ci', '--scope', 'account'], code: 2, says: 'read, publish' },
  { args: ['token', 'create'], input: secret, code: 2, says: 'token create needs NAME' },
  { args: ['whoami', '--registry', 'http://studio.example'], code: 2, says: 'plain http' },
  { args: ['whoami', '--registry', `http://bob:${secret}@127.0.0.1`], code: 2, says: 'password' },
  { args: ['whoami'], env: { SERVICE_REGISTRY: 'nonsense' }, code: 2, says: 'SERVICE_REGISTRY' },
  { args: ['whoami'], env: { SERVICE_TOKEN: `a\n${secret}` }, code: 2, says: 'SERVICE_TOKEN' },
  { args: ['whoami'], env: { SERVICE_TOKEN_FILE: '/none' }, code: 2, says: 'SERVICE_TOKEN_FILE' },
  {
    args: ['whoami'],
    env: { HOME: '', XDG_CONFIG_HOME: '' },
    code: 2,
    says: 'HOME "" is not an absolute path',
  },
  { args: ['whoami'], code: 4, says: 'login --registry' },
  { args: ['publish'], code: 4, says: 'not logged in' },
  { args: ['publish', '--token', secret], code: 3, says: 'offers no publishing' },
  { args: ['token', 'revoke', secret, '--token', 'x'], code: 3, says: 'with status 404' },
  { args: ['whoami', '--token', secret], code: 4, says: '--token' },
  { args: ['login', 'bob', '--password', secret], code: 4, says: 'with status 401' },
  ...[
    ['whoami', '--token', 'x'],
    ['login', 'bob', '--password', secret],
    ['register', 'bob'],
  ].map(args => ({
    args: [...args, '--registry', 'https://registry.invalid'],
    env: { HTTPS_PROXY: `socks5://bob:${secret}@127.0.0.1:1` },
    code: 2,
    says: 'HTTPS_PROXY is not the address of an HTTP proxy',
  })),
  ...[
    ['resources', 'list', '--url', 'https://instance.invalid/mcp'],
    ['serve', '--join', 'https://gateway.invalid'],
  ].map(args => ({
    args,
    env: { HTTPS_PROXY: 'http://[::1', SERVICE_JOIN_TOKEN: 'x' },
    code: 2,
    says: 'HTTPS_PROXY is not the address of an HTTP proxy',
  })),
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

  for (const { args, code, says, ...options } of cases) {
    const name = [...Object.keys(options.env ?? {}), ...args].join(' ').replaceAll(secret, 'SECRET')
    it(`end with ${code} for ${name}, saying "${says}" as text and as JSON`, async () => {
      const text = await home.run(args, options)
      expect(text.code, text.stderr).to.equal(code)
      expect(text.stdout).to.equal('')
      expect(text.stderr)
        .to.match(/^error: .+\n(hint: .+\n)?$/)
        .and.contain(says)
      const json = await home.run(['--json', ...args], options)
      expect([json.code, json.stderr]).to.deep.equal([code, ''])
      const { error } = JSON.parse(json.stdout)
      expect(error.code).to.match(/^[a-z_]+$/)
      expect(`${error.message} ${error.hint}`).to.contain(says)
    })
  }

  it('end with 6 and the time to wait after too many tries, with 1 when the registry fails', async () => {
    const login = ['login', 'bob', '--password', secret]
    registry.refuseNext(429, { 'Retry-After': '7' })
    expectEnd(await home.run(login), 6, '7 s')
    registry.refuseNext(500)
    expect((await home.run(login)).code).to.equal(1)
  })

  it('leave nothing behind, and repeat no secret', () => {
    expect(readdirSync(home.folder, { recursive: true })).to.deep.equal([])
    expect(home.leaks([secret])).to.deep.equal([])
  })

  it('say where a configuration is broken, not what stands there', async () => {
    mkdirSync(dirname(home.configPath), { mode: 0o700 })
    writeFileSync(home.configPath, `version = 1\naccess_token = ${secret}\n`, { mode: 0o600 })
    const { code, stderr } = await home.run(['whoami'])
    expect(code).to.equal(2)
    expect(stderr).to.contain(`${home.configPath}:2:`).and.not.contain(secret)
  })
})
