import { expect } from 'chai'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../helpers/until.ts'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { type AccountsProcess, startAccountsProcess } from '../helpers/accounts-process.ts'
import { cleanEnv, runProgram } from '../helpers/program.ts'
import { type Postgres, startPostgres } from './postgres.ts'

/** A kill between the write and its answer costs the client a retry, not its session. */
const flags = [
  ...quickLimits.filter(flag => !flag.includes('keyPollMs')),
  '--bound=refreshGraceMs=600000',
  // Only a notice tells of a rotated key.
  '--bound=keyPollMs=600000',
]

describe('accounts servers on one PostgreSQL database', () => {
  let postgres: Postgres
  let folder: string
  let env: Record<string, string>
  const running: AccountsProcess[] = []

  before(async function () {
    postgres = await startPostgres(this)
  })
  after(() => postgres?.remove())
  beforeEach(async () => {
    folder = fs.mkdtempSync(join(tmpdir(), 'accounts-servers-'))
    env = { SERVICE_DATABASE_URL: await postgres.schema() }
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map(server => server.stop()))
    fs.rmSync(folder, { recursive: true, force: true })
  })

  const data = (name: string) => join(folder, name)
  async function start(name: string): Promise<AccountsProcess> {
    const server = await startAccountsProcess({ dataDir: data(name), flags, env })
    running.push(server)
    return server
  }
  /** A second server needs the key that the first one has made. */
  function copyWrappingKey(from: string, to: string): void {
    fs.mkdirSync(data(to), { mode: 0o700 })
    fs.copyFileSync(join(data(from), 'wrapping.key'), join(data(to), 'wrapping.key'))
  }
  async function startTwo() {
    const first = await start('one')
    copyWrappingKey('one', 'two')
    const second = await start('two')
    return [createCaller(first.url), createCaller(second.url)] as const
  }
  const registry = (...args: string[]) =>
    runProgram(['registry', ...args, '--data-dir', data('one')], { env: cleanEnv(env) })

  it('know the accounts, logins and logouts of each other at once', async () => {
    const [one, two] = await startTwo()
    const { access_token: access } = await one.register('ada')
    expect(await two.me(access)).to.equal('200')
    const { json } = await two.login('ada')
    expect(await one.me(json.access_token)).to.equal('200')
    expect((await one.call('POST', '/logout', json.access_token)).status).to.equal(204)
    expect(await two.me(json.access_token)).to.equal('401 token-revoked')
    expect(await two.me(access)).to.equal('200')
  })

  it('sign with the keys that either of them, or a command, has rotated', async () => {
    const [one, two] = await startTwo()
    const { access_token: before } = await one.register('ada')
    expect((await registry('rotate-key', '--json')).code).to.equal(0)
    const { json } = await two.login('ada')
    await until(async () => (await one.me(json.access_token)) === '200', 'the new key is known')
    expect(await two.me(before)).to.equal('200')
    expect((await registry('rotate-key', '--compromised', '--json')).code).to.equal(0)
    await until(async () => (await one.me(before)) !== '200', 'the old keys are void')
    await until(async () => (await two.me(before)) !== '200', 'the old keys are void there, too')
  })

  it('run the commands of the operator, except backup', async () => {
    const one = createCaller((await start('one')).url)
    await one.register('ada')
    const listed = await registry('users', 'list', '--json')
    expect(listed.stdout).to.contain('"ada"')
    const backup = await registry('backup', '--out', data('copy'))
    expect(backup.code).to.not.equal(0)
    expect(backup.stderr).to.contain('pg_dump')
    expect(fs.existsSync(data('copy'))).to.equal(false)
  })

  it('refuse to start without the key that the signing keys are encrypted with', async () => {
    await start('one')
    const ended = await runProgram(['registry', '--port', '0', '--data-dir', data('three')], {
      env: cleanEnv(env),
    })
    expect(ended.code).to.not.equal(0)
    expect(ended.stderr).to.contain('wrapping.key').and.to.contain('from another accounts server')
    expect(fs.existsSync(join(data('three'), 'wrapping.key'))).to.equal(false)
  })

  it('make one set of keys when two of one data folder start at once', async () => {
    const [one, two] = await Promise.all([start('one'), start('one')])
    const { access_token: access } = await createCaller(one.url).register('ada')
    expect(await createCaller(two.url).me(access)).to.equal('200')
  })

  it('store the signing keys only encrypted', async () => {
    await start('one')
    const database = await postgres.open(env.SERVICE_DATABASE_URL)
    const row = await database.run('a test', queries =>
      queries.row<{ wrapped: Buffer }>('SELECT wrapped FROM accounts_keys'),
    )
    await database.close()
    const stored = row?.wrapped.toString('latin1') ?? ''
    expect(stored.length).to.be.greaterThan(100)
    expect(stored).to.not.match(/kid|"d"|signing|refresh/)
    expect(fs.statSync(join(data('one'), 'wrapping.key')).mode & 0o777).to.equal(0o600)
  })

  it('answer 503 while the database is away, and then go on', async () => {
    const one = await start('one')
    const caller = createCaller(one.url)
    const { access_token: access } = await caller.register('ada')
    postgres.stop()
    try {
      expect(await caller.me(access)).to.match(/^503 /)
      const ready = await fetch(`${one.url}/readyz`)
      expect(ready.status).to.equal(503)
      const { detail } = (await ready.json()) as { detail: string }
      expect(detail).to.match(/^the database cannot be used: (connection refused|the connection)/)
      expect((await fetch(`${one.url}/healthz`)).status).to.equal(200)
    } finally {
      postgres.start()
    }
    await until(async () => (await caller.me(access)) === '200', 'the database is used again')
    const isReady = async () => (await fetch(`${one.url}/readyz`)).status === 200
    await until(isReady, 'readyz that is 200')
  })

  it('lose no account that was answered when one is killed or the database crashes', async () => {
    const kept: { readonly access: string; readonly refresh: string }[] = []
    for (let round = 0; round < 2; round++) {
      const server = await start('one')
      const caller = createCaller(server.url)
      let alive = true
      const lanes = [0, 1, 2].map(async lane => {
        for (let at = 0; alive && at < 1000; at++) {
          const made = await caller.register(`r${round}l${lane}n${at}`).catch(() => null)
          if (made !== null) kept.push({ access: made.access_token, refresh: made.refresh_token })
        }
      })
      const before = kept.length
      await until(() => kept.length > before + round * 5, 'accounts are being made')
      const ended = once(server.child, 'close')
      if (round % 2 === 0) server.child.kill('SIGKILL')
      else postgres.restart('immediate')
      alive = false
      await Promise.all(lanes)
      if (round % 2 === 1) server.child.kill('SIGKILL')
      await ended
      running.splice(0)
    }
    const caller = createCaller((await start('one')).url)
    for (const { access, refresh } of kept) {
      expect(await caller.me(access)).to.equal('200')
      expect((await caller.refresh(refresh)).status).to.equal(200)
    }
  })
})
