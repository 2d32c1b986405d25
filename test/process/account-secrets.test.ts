import { expect } from 'chai'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import type { CommandOptions } from '../helpers/in-process.ts'
import { type AccountsProcess, createCaller, startAccountsProcess } from '../helpers/accounts.ts'
import { exitOf, textOf } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'
import { exchange, requestText } from './raw-socket.ts'

const first = 'first honest phrase 71'
const second = 'second honest phrase 72'
const third = 'third honest phrase 75'
const wrong = 'mistaken phrase 73'
const mistyped = 'phrase-in-a-wrong-place-74'

/** Logs at their loudest, and a refresh token that is refused the second time. */
const flags = ['--log-level=debug']

interface SecretRunOptions extends CommandOptions {
  readonly code?: number
  /** The command is there to show a secret, on stdout alone. */
  readonly shows?: boolean
}

describe('the secrets of an account, over its whole life', function () {
  this.timeout(180_000)
  const secrets = new Set([first, second, third, wrong, mistyped])
  const heard: { where: string; text: string }[] = []
  let folder: string
  let dataDir: string
  let registry: AccountsProcess
  let home: AccountHome
  let caller: ReturnType<typeof createCaller>
  let token = ''

  before(async function () {
    if (process.platform !== 'linux') skipBecause(this, 'there is no /proc on this system')
    folder = mkdtempSync(join(tmpdir(), 'whole-life-'))
    dataDir = join(folder, 'data')
    registry = await startAccountsProcess({ dataDir, flags })
    home = createAccountHome(registry.url)
    caller = createCaller(registry.url)
  })

  after(async () => {
    await registry?.stop()
    home?.remove()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  const hear = (where: string, text: string) => void heard.push({ where, text })

  function keep(...found: string[]): void {
    for (const secret of found) {
      secrets.add(secret)
      // The claims and the signature are as good as the whole, or say who it is.
      if (secret.startsWith('eyJ')) for (const part of secret.split('.').slice(1)) secrets.add(part)
    }
  }

  async function run(
    args: readonly string[],
    { code = 0, shows = false, ...options }: SecretRunOptions = {},
  ): Promise<string> {
    const { stdout, stderr, code: ended } = await home.run(args, options)
    const name = args.filter(word => !secrets.has(word)).join(' ')
    hear(`stderr of ${name}`, stderr)
    if (!shows) hear(`stdout of ${name}`, stdout)
    keepSaved()
    expect(ended, `${name}: ${stdout}${stderr}`).to.equal(code)
    return stdout.trim()
  }

  const own = (words: readonly string[], options?: SecretRunOptions) =>
    run(['registry', ...words, '--data-dir', dataDir], options)

  const saved = (kind: 'access' | 'refresh') =>
    new RegExp(`${kind}_token = "(.+)"`).exec(home.config())?.[1] ?? ''

  function keepSaved(): void {
    if (readdirSync(home.folder).length === 0) return
    keep(...['access' as const, 'refresh' as const].map(saved).filter(text => text !== ''))
  }

  it('begins with a registry that says where it is, for its user alone', () => {
    const { url, pid } = registry
    const data_dir = dataDir
    const event = 'listening'
    expect(registry.said).to.deep.equal({ event, url, pid, registration: 'open', data_dir })
    expect(statSync(dataDir).mode & 0o777).to.equal(0o700)
    for (const name of ['registry.db', 'signing-keys.json']) {
      expect(statSync(join(dataDir, name)).mode & 0o777).to.equal(0o600)
    }
  })

  it('stays out of the process list and of debug output while a program registers', async () => {
    keep(await own(['users', 'add', 'carol'], { shows: true }))
    const args = ['register', 'alice', '--email', 'alice@studio.example']
    // It answers nothing meanwhile, so the command stands still with its secret.
    registry.child.kill('SIGSTOP')
    // The command parser would print all arguments.
    const env = { DEBUG: '*' }
    const child = home.start([...args, '--password', first], { env })
    try {
      const line = () => readFileSync(`/proc/${child.pid}/cmdline`, 'latin1').replaceAll('\0', '')
      await until(() => line() === 'service-cli', 'the arguments are hidden')
      expect(child.exitCode).to.equal(null)
      hear('process list', readFileSync(`/proc/${registry.pid}/cmdline`, 'latin1'))
    } finally {
      registry.child.kill('SIGCONT')
    }
    const said = await Promise.all([exitOf(child), textOf(child.stdout), textOf(child.stderr)])
    expect(said[0], said.join()).to.equal(0)
    hear('the program', said.slice(1).join())
    keepSaved()
    await run([...args, '--password-stdin'], { input: first, code: 3 })
  })

  it('goes on with logins, right and wrong', async () => {
    await run(['login', 'alice', '--password-stdin'], { input: wrong, code: 4 })
    await run(['login', 'alice', '--password', wrong, '--json'], { code: 4 })
    await run(['login', wrong, '--password', first, '--no-input'], { code: 4 })
    await run(['login', 'alice', '--password-stdin', '--json'], { input: `${first}\n` })
    for (const misplaced of [
      ['whoami', mistyped],
      ['login', 'alice', mistyped],
      ['login', 'alice', `--pasword=${mistyped}`],
      ['login', 'alice', `-p${mistyped}`, '--json'],
      ['whoami', '--registry', `http://alice:${mistyped}@127.0.0.1:1`, '--json'],
      ['whoami', '--registry', `http://127.0.0.1:1/?token=${mistyped}`],
    ]) {
      await run(misplaced, { code: 2 })
    }
  })

  it('goes on with refreshes, one of them with a token that was used', async () => {
    const used = saved('refresh')
    const soon = new Date(Date.now() + 60_000).toISOString()
    const expiry = /access_expires_at = ".+"/
    // Twice: the token before the current one gives that again for a minute.
    for (const _ of [1, 2]) {
      const before = saved('refresh')
      writeFileSync(home.configPath, home.config().replace(expiry, `access_expires_at = "${soon}"`))
      await run(['whoami'])
      expect(saved('refresh')).not.to.equal(before)
    }
    expect((await caller.refresh(used)).json.code).to.equal('refresh-reused')
    await run(['whoami'], { code: 4 })
    await run(['login', 'alice', '--password-stdin'], { input: first })
  })

  it('goes on with service tokens, good, revoked and misplaced', async () => {
    token = await run(['token', 'create', 'ci'], { shows: true })
    const made = JSON.parse(await run(['token', 'create', 'cd', '--json'], { shows: true })).token
    keep(token, made)
    const file = join(folder, 'token')
    writeFileSync(file, token, { mode: 0o600 })
    await run(['whoami', '--json'], { env: { SERVICE_TOKEN: token } })
    await run(['whoami'], { env: { SERVICE_TOKEN_FILE: file } })
    await run(['--token', token, 'whoami'])
    for (const more of [['list'], ['list', '--json'], ['revoke', 'cd']])
      await run(['token', ...more])
    await run(['whoami', '--token', made, '--json'], { code: 4 })
    for (const words of [['whoami'], ['login'], ['token', 'create', 'x', '--days'], []]) {
      await run([...words, token], { code: 2 })
    }
    await run(['login', token, '--password-stdin'], { code: 4, input: first })
    for (const misused of [
      ['publish', '--token', token],
      ['token', 'create', 'x', '--token', token],
      ['token', 'revoke', token],
      ['registry', 'users', 'enable', token, '--data-dir', dataDir],
    ]) {
      await run(misused, { code: 3 })
    }
  })

  it('is sent by people and programs in every wrong way', async () => {
    for (const secret of [token, saved('access')]) {
      await caller.call('GET', `/me?access_token=${secret}`, secret)
      await caller.call('DELETE', `/tokens/${secret}`, saved('access'))
      await caller.call('POST', '/refresh', undefined, { refresh_token: secret })
      await caller.call('POST', '/login', undefined, { username: secret, password: secret })
      const headers = ['Host: localhost', `Authorization: Bearer ${secret}`]
      for (const line of ['GET /healthz HTTP/9', `GET /${secret} HTTP/1.1`]) {
        const answer = await exchange(registry.port, requestText([line, ...headers]))
        hear(`answer to ${line.split('/')[0]}`, JSON.stringify(answer))
      }
    }
    for (const body of [{ username: first }, { username: 'alice', password: [first] }, [first]]) {
      hear('answer', (await caller.call('POST', '/login', undefined, body)).text)
    }
  })

  it('goes on with what the owner does, and ends with the account', async () => {
    const code = await own(['users', 'reset-code', 'alice'], { shows: true })
    const other = JSON.parse(await own(['users', 'reset-code', 'alice', '--json'], { shows: true }))
    keep(code, other.code)
    const reset = { username: 'alice', code: other.code, new_password: second }
    hear('answer', (await caller.call('POST', '/reset', undefined, { ...reset, code })).text)
    expect((await caller.call('POST', '/reset', undefined, reset)).status).to.equal(200)
    await run(['login', 'alice', '--password-stdin'], { input: second })
    await run(['password', '--password-stdin'], { input: `${second}\n${third}` })
    for (const words of [
      ['users', 'list'],
      ['users', 'list', '--json'],
      ['audit'],
      ['audit', '--json'],
      ['rotate-key'],
      ['backup', '--out', join(folder, 'backup')],
    ]) {
      await own(words)
    }
    await run(['logout', '--all', '--json'])
    await own(['users', 'delete', 'alice', '--yes'])
    await run(['login', 'alice', '--password-stdin'], { input: third, code: 4 })
  })

  it('and none of them stands in anything that was said, logged or kept', async () => {
    expect(await registry.stop()).to.equal(0)
    const log = registry.stderr()
    hear('log of the registry', log)
    expect(log).to.contain('"path":"/[redacted]"').and.contain('"level":"')
    expect(log).not.to.contain('$argon2id$')
    const keys = readFileSync(join(dataDir, 'signing-keys.json'), 'utf8')
    keep(...Array.from(keys.matchAll(/"(?:d|secret)": "([\w-]+)"/g), ([, key = '']) => key))
    for (const path of [folder, home.folder].flatMap(filesBelow)) {
      // Hashes belong into the database, keys into their file, a token into the file for it.
      if (!/^(signing-keys\.json|token)$/.test(basename(path)))
        hear(path, readFileSync(path, 'latin1'))
    }
    expect(heard.length).to.be.greaterThan(80)
    expect(secrets.size).to.be.greaterThan(20)
    const leaks = heard.flatMap(({ where, text }) =>
      Array.from(secrets)
        .filter(secret => spellings(secret).some(spelling => text.includes(spelling)))
        .map(secret => `${where}: ${secret}`),
    )
    expect(leaks).to.deep.equal([])
  })
})

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map(name => join(folder, String(name)))
    .filter(path => statSync(path).isFile())
}

/** The secret as it is, and as an address, JSON or an encoding would have it. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    encodeURIComponent(secret),
    secret.replaceAll(' ', '+'),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ]
}
