import { expect } from 'chai'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AccountHome, type RunOptions, createAccountHome } from '../helpers/account-home.ts'
import { createLedger } from '../helpers/ledger.ts'
import { exitOf, textOf } from '../helpers/program.ts'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { type AccountsProcess, startAccountsProcess } from '../helpers/accounts-process.ts'
import { exchange, requestText } from './raw-socket.ts'
import { until } from '../helpers/until.ts'

const first = 'first honest phrase 71'
const second = 'second honest phrase 72'
const wrong = 'mistaken phrase 73'
const mistyped = 'phrase-in-a-wrong-place-74'

/** Logs at their loudest, and a refresh token that is refused the second time. */
const flags = [...quickLimits, '--log-level', 'debug', '--bound=refreshGraceMs=0']

interface SecretRunOptions extends RunOptions {
  code?: number
  shows?: boolean
  /** Starts a program, which costs ten times as much as a command in this process. */
  program?: boolean
}

describe('the secrets of an account, over its whole life', function () {
  this.timeout(180_000)
  const ledger = createLedger()
  let folder: string
  let dataDir: string
  let registry: AccountsProcess
  let home: AccountHome
  let caller: ReturnType<typeof createCaller>
  let access = ''
  let token = ''

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'whole-life-'))
    dataDir = join(folder, 'data')
    registry = await startAccountsProcess({ dataDir, flags })
    home = createAccountHome(registry.url)
    caller = createCaller(registry.url)
    ledger.keep(first, second, wrong, mistyped)
  })

  after(async () => {
    await registry?.stop()
    home?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Runs a command; `shows` is for those that are there to show a secret, on stdout alone. */
  async function run(
    args: readonly string[],
    { code = 0, shows = false, program = false, ...options }: SecretRunOptions = {},
  ): Promise<string> {
    // A program must print no more for DEBUG: the command parser would print all arguments.
    const debug = program ? { DEBUG: '*' } : {}
    const env = { ...debug, TMPDIR: home.folder, ...options.env }
    const command = program ? home.runProgram : home.run
    const { stdout, stderr, code: ended } = await command(args, { ...options, env })
    const name = args.filter(word => !ledger.secrets.has(word)).join(' ')
    ledger.hear(`stderr of ${name}`, stderr)
    if (!shows) ledger.hear(`stdout of ${name}`, stdout)
    for (const [, saved] of savedTokens()) ledger.keep(saved)
    expect(ended, `${name}: ${stdout}${stderr}`).to.equal(code)
    return stdout.trim()
  }

  const own = (words: readonly string[], options?: SecretRunOptions) =>
    run(['registry', ...words, '--data-dir', dataDir], options)

  const all = (commands: readonly (readonly string[])[], options?: SecretRunOptions) =>
    Promise.all(commands.map(args => run(args, options)))

  function savedTokens(): RegExpMatchArray[] {
    try {
      return Array.from(home.config().matchAll(/_token = "(.+)"/g))
    } catch {
      return []
    }
  }

  const savedAccess = () => /access_token = "(.+)"/.exec(home.config())?.[1] ?? ''

  it('begins with an invitation and a registration', async () => {
    ledger.keep(await own(['users', 'add', 'carol'], { shows: true }))
    const args = ['register', 'alice', '--email', 'alice@studio.example']
    await run([...args, '--password', first], { program: true })
    await run([...args, '--password-stdin'], { input: first, code: 3 })
    access = savedAccess()
    expect(access).to.match(/^eyJ/)
  })

  it('goes on with logins, right and wrong', async () => {
    await run(['login', 'alice', '--password-stdin'], { input: wrong, code: 4 })
    await run(['login', 'alice', '--password', wrong, '--json'], { code: 4 })
    await run(['login', wrong, '--password', first, '--no-input'], { code: 4 })
    await run(['login', 'alice', '--password-stdin', '--json'], {
      input: `${first}\n`,
      program: true,
    })
    await all([['whoami'], ['whoami', '--json']])
    await run(['whoami', mistyped], { code: 2 })
    const misplaced = [
      ['login', 'alice', mistyped],
      ['login', 'alice', `--pasword=${mistyped}`],
      ['login', 'alice', `-p${mistyped}`, '--json'],
      ['logout', `--all=${mistyped}`],
      ['whoami', '--registry', `http://alice:${mistyped}@127.0.0.1:1`, '--json'],
      ['whoami', '--registry', `http://127.0.0.1:1/?token=${mistyped}`],
    ]
    await all(misplaced, { code: 2 })
  })

  it('goes on with refreshes, one of them with a token that was used', async () => {
    const used = /refresh_token = "(.+)"/.exec(home.config())?.[1] ?? ''
    const soon = new Date(Date.now() + 60_000).toISOString()
    const expiry = /access_expires_at = ".+"/
    writeFileSync(home.configPath, home.config().replace(expiry, `access_expires_at = "${soon}"`))
    const before = savedAccess()
    await run(['whoami'])
    expect(savedAccess()).not.to.equal(before)
    expect((await caller.refresh(used)).json.code).to.equal('refresh-reused')
    await run(['whoami'], { code: 4 })
    await run(['login', 'alice', '--password-stdin'], { input: first })
  })

  it('goes on with service tokens, good, revoked and misplaced', async () => {
    token = await run(['token', 'create', 'ci'], { shows: true })
    const made = JSON.parse(await run(['token', 'create', 'cd', '--json'], { shows: true })).token
    ledger.keep(token, made)
    const file = join(folder, 'token')
    writeFileSync(file, token, { mode: 0o600 })
    await Promise.all([
      run(['whoami', '--json'], { env: { SERVICE_TOKEN: token } }),
      run(['whoami'], { env: { SERVICE_TOKEN_FILE: file } }),
      run(['--token', token, 'whoami'], { program: true }),
      all([
        ['token', 'list'],
        ['token', 'list', '--json'],
        ['token', 'revoke', 'cd'],
      ]),
    ])
    const refused = ['whoami', '--token', made]
    await run(refused, { code: 4 })
    await run([...refused, '--json'], { code: 4 })
    const unwanted = [
      ['whoami'],
      ['login'],
      ['token', 'list'],
      ['token', 'create', 'x', '--days'],
      [],
    ]
    await all(
      unwanted.map(args => [...args, token]),
      { code: 2 },
    )
    await run(['login', token, '--password-stdin'], { code: 4, input: first })
    const misused = [
      ['publish', '--token', token],
      ['token', 'create', 'x', '--token', token],
      ['token', 'revoke', token],
      ['registry', 'users', 'enable', token, '--data-dir', dataDir],
    ]
    await all(misused, { code: 3 })
  })

  it('is sent by people and programs in every wrong way', async () => {
    for (const secret of [token, access, savedAccess()]) {
      await caller.call('GET', `/me?access_token=${secret}`, secret)
      await caller.call('DELETE', `/tokens/${secret}`, savedAccess())
      await caller.call('POST', '/refresh', undefined, { refresh_token: secret })
      await caller.call('POST', '/login', undefined, { username: secret, password: secret })
      const header = `Authorization: Bearer ${secret}`
      for (const line of [
        'GET /healthz HTTP/9',
        `GET /${secret} HTTP/1.1`,
        'CONNECT x:1 HTTP/1.1',
      ]) {
        const answer = await exchange(
          registry.port,
          requestText([line, 'Host: localhost', header, `X-Forwarded-For: ${secret}`]),
        )
        ledger.hear(`answer to ${line.split('/')[0]}`, JSON.stringify(answer))
      }
    }
    for (const body of [{ username: first }, { username: 'alice', password: [first] }, [first]]) {
      ledger.hear('answer', (await caller.call('POST', '/login', undefined, body)).text)
    }
  })

  it('goes on with what the owner does', async () => {
    const code = await own(['users', 'reset-code', 'alice'], { shows: true })
    const other = JSON.parse(await own(['users', 'reset-code', 'alice', '--json'], { shows: true }))
    ledger.keep(code, other.code)
    const reset = { username: 'alice', code: other.code, new_password: second }
    ledger.hear('answer', (await caller.call('POST', '/reset', undefined, { ...reset, code })).text)
    expect((await caller.call('POST', '/reset', undefined, reset)).status).to.equal(200)
    await run(['whoami'], { code: 4 })
    await run(['login', 'alice', '--password-stdin'], { input: second })
    const change = { current_password: second, new_password: first }
    expect((await caller.call('PUT', '/password', savedAccess(), change)).status).to.equal(204)
    const shown = [['users', 'list'], ['audit']]
    for (const more of [[], ['--json']]) {
      for (const words of shown) await own([...words, ...more])
    }
    for (const words of [
      ['users', 'disable', 'alice'],
      ['users', 'enable', 'alice'],
      ['rotate-key'],
      ['backup', '--out', join(folder, 'backup')],
    ]) {
      await own(words)
    }
  })

  it('stays out of the process list while a command runs', async function () {
    if (process.platform !== 'linux') return this.skip()
    // It answers nothing meanwhile, so the command stands still with its secret.
    registry.child.kill('SIGSTOP')
    const args = ['register', 'bobby', '--email', 'b@x.example', '--password', first]
    const child = home.start(args)
    try {
      const line = () => readFileSync(`/proc/${child.pid}/cmdline`, 'latin1').replaceAll('\0', '')
      await until(() => line() === 'service-cli', 'the arguments are hidden')
      expect(child.exitCode).to.equal(null)
      ledger.hear('process list', readFileSync(`/proc/${registry.pid}/cmdline`, 'latin1'))
    } finally {
      registry.child.kill('SIGCONT')
    }
    const said = await Promise.all([textOf(child.stdout), textOf(child.stderr), exitOf(child)])
    ledger.hear('a command that had to wait', said.slice(0, 2).join(''))
    for (const [, saved] of savedTokens()) ledger.keep(saved)
  })

  it('ends with a logout and the end of the account', async () => {
    await run(['login', 'alice', '--password-stdin'], { input: first })
    await run(['logout', '--all', '--json'])
    await own(['users', 'delete', 'alice', '--yes'])
    await run(['login', 'alice', '--password-stdin'], { input: first, code: 4 })
  })

  it('and none of them stands in anything that was said, logged or kept', async () => {
    await registry.stop()
    ledger.hear('log of the registry', registry.stderr())
    expect(registry.stderr()).to.contain('"path":"/[redacted]"').and.contain('"level":"')
    const keys = readFileSync(join(dataDir, 'keys.json'), 'utf8')
    for (const [, key] of keys.matchAll(/"(?:d|secret)": "([\w-]+)"/g)) ledger.keep(key)
    // Hashes belong into the database, keys into their file, tokens into their two entries.
    ledger.hearFolder(folder, (name, text) => (/^(keys\.json|token)$/.test(name) ? '' : text))
    ledger.hearFolder(home.folder, (name, text) =>
      name === 'config.toml' ? text.replace(/^(access|refresh)_token = .+$/gm, '') : text,
    )
    expect(ledger.heard()).to.be.greaterThan(120)
    expect(ledger.secrets.size).to.be.greaterThan(25)
    expect(ledger.leaks()).to.deep.equal([])
    expect(registry.stderr()).not.to.contain('$argon2id$')
  })
})
