import { expect } from 'chai'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { type AccountsProcess, createCaller, startAccountsProcess } from '../helpers/accounts.ts'
import { exitOf, textOf } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'
import { exchange, requestText } from './raw-socket.ts'

const password = 'first honest phrase 71'
const other = 'second honest phrase 72'
const wrong = 'mistaken phrase 73'
const misplaced = 'phrase-in-a-wrong-place-74'

describe('the secrets of an account', () => {
  const secrets = new Set([password, other, wrong, misplaced])
  let dataDir: string
  let registry: AccountsProcess
  let home: AccountHome
  let caller: ReturnType<typeof createCaller>

  before(async function () {
    if (process.platform !== 'linux') skipBecause(this, 'there is no /proc on this system')
    dataDir = join(newFolder(), 'data')
    registry = await startAccountsProcess({ dataDir, flags: ['--log-level=debug'] })
    home = createAccountHome(registry.url)
    caller = createCaller(registry.url)
  })

  const run = async (args: readonly string[], code: number, input?: string) => {
    const ended = await home.run(args, { input })
    expect(ended.code, `${args.join(' ')}: ${ended.stdout}${ended.stderr}`).to.equal(code)
  }
  const saved = (kind: 'access' | 'refresh') =>
    new RegExp(`${kind}_token = "(.+)"`).exec(home.config())?.[1] ?? ''

  it('stay out of the process list and of debug output while a program registers', async () => {
    const words = ['register', 'alice', '--email', 'alice@studio.example', '--password', password]
    // It answers nothing meanwhile, so the command stands still with its secret.
    registry.child.kill('SIGSTOP')
    // The command parser would print all arguments.
    const child = home.start(words, { env: { DEBUG: '*' } })
    try {
      const line = () => readFileSync(`/proc/${child.pid}/cmdline`, 'latin1').replaceAll('\0', '')
      await until(() => line() === 'service-cli', 'the arguments are hidden')
      expect(child.exitCode).to.equal(null)
    } finally {
      registry.child.kill('SIGCONT')
    }
    const [code, stdout, stderr] = await Promise.all([
      exitOf(child),
      textOf(child.stdout),
      textOf(child.stderr),
    ])
    expect(code, stderr).to.equal(0)
    home.remember({ args: ['register'], code, stdout, stderr })
  })

  it('are used and sent in every wrong way', async () => {
    await run(['login', 'alice', '--password-stdin'], 4, wrong)
    await run(['login', wrong, '--password', password, '--no-input'], 4)
    for (const words of [
      ['whoami', misplaced],
      ['login', 'alice', `-p${misplaced}`, '--json'],
      ['whoami', '--registry', `http://alice:${misplaced}@127.0.0.1:1`, '--json'],
      ['whoami', '--registry', `http://127.0.0.1:1/?token=${misplaced}`],
    ]) {
      await run(words, 2)
    }
    const { access_token, refresh_token } = (await caller.login('alice', password)).json
    const token = await caller.makeToken(access_token)
    for (const secret of [token, saved('access'), saved('refresh'), refresh_token]) {
      secrets.add(secret)
    }
    await run(['login', token, '--password-stdin'], 4, password)
    await run(['token', 'revoke', token], 3)
    await run(['--token', token, 'whoami'], 0)
    for (const secret of [token, access_token]) {
      await caller.call('GET', `/me?access_token=${secret}`, secret)
      await caller.call('DELETE', `/tokens/${secret}`, access_token)
      await caller.call('POST', '/refresh', undefined, { refresh_token: secret })
      await caller.call('POST', '/login', undefined, { username: secret, password: secret })
      const headers = ['Host: localhost', `Authorization: Bearer ${secret}`]
      for (const line of ['GET /healthz HTTP/9', `GET /${secret} HTTP/1.1`]) {
        const answer = await exchange(registry.port, requestText([line, ...headers]))
        expect(JSON.stringify(answer)).not.to.contain(secret)
      }
    }
    await run(['password', '--password-stdin'], 0, `${password}\n${other}`)
    await run(['logout', '--all', '--json'], 0)
  })

  it('stand in nothing that was said, logged or kept', async () => {
    expect(await registry.stop()).to.equal(0)
    const log = registry.stderr()
    expect(log).to.contain('"path":"/[redacted]"').and.contain('"level":"')
    expect(log).not.to.contain('$argon2id$')
    expect(statSync(dataDir).mode & 0o777).to.equal(0o700)
    const keys = readFileSync(join(dataDir, 'signing-keys.json'), 'utf8')
    for (const [, key = ''] of keys.matchAll(/"d": "([\w-]+)"/g)) secrets.add(key)
    const database = readFileSync(join(dataDir, 'registry.db'), 'latin1')
    for (const secret of secrets) expect(log + database).not.to.contain(secret)
    expect(secrets.size).to.equal(9)
    expect(home.leaks([...secrets])).to.deep.equal([])
  })
})
