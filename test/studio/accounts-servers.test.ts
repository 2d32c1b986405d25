import { expect } from 'chai'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { until } from '../helpers/until.ts'
import { createCaller, startAccountsProcess } from '../helpers/accounts.ts'
import { cleanEnv, runProgram } from '../helpers/program.ts'
import { type Postgres, startPostgres } from './postgres.ts'

describe('accounts servers on one PostgreSQL database', () => {
  let postgres: Postgres
  let folder: string
  let env: Record<string, string>

  before(async function () {
    postgres = await startPostgres(this)
  })
  beforeEach(async () => {
    folder = newFolder()
    env = { SERVICE_DATABASE_URL: await postgres.schema() }
  })

  const data = (name: string) => join(folder, name)
  const start = (name: string) => startAccountsProcess({ dataDir: data(name), env })
  /** As the operator does for every further server. */
  function copyKeys(): void {
    fs.mkdirSync(data('two'), { recursive: true, mode: 0o700 })
    fs.copyFileSync(join(data('one'), 'signing-keys.json'), join(data('two'), 'signing-keys.json'))
  }
  async function startTwo() {
    const first = await start('one')
    copyKeys()
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

  it('refuse no token while the signing key is replaced in two steps', async () => {
    const [one, two] = await startTwo()
    const { access_token: before } = await one.register('ada')
    const next = JSON.parse((await registry('rotate-key', '--json')).stdout).kid
    copyKeys()
    const jwks = () => two.call('GET', '/../../../.well-known/jwks.json')
    await until(async () => (await jwks()).text.includes(next), 'the other server knows the key')
    expect((await registry('rotate-key', '--activate')).code).to.equal(0)
    const kid = async () => (await one.login('ada')).json.access_token.split('.')[0]
    await until(async () => (await kid()) !== before.split('.')[0], 'the new key signs')
    const { json } = await one.login('ada')
    expect(await two.me(json.access_token)).to.equal('200')
    copyKeys()
    expect(await two.me(before)).to.equal('200')
    expect(await one.me(before)).to.equal('200')
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

  it('refuse to start without a copy of the signing keys', async () => {
    await start('one')
    const ended = await runProgram(['registry', '--port', '0', '--data-dir', data('three')], {
      env: cleanEnv(env),
    })
    expect(ended.code).to.not.equal(0)
    expect(ended.stderr).to.contain('copy signing-keys.json from the first server')
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
      expect(detail).to.contain('the accounts cannot be read')
      expect((await fetch(`${one.url}/healthz`)).status).to.equal(200)
    } finally {
      postgres.start()
    }
    await until(async () => (await caller.me(access)) === '200', 'the database is used again')
    const isReady = async () => (await fetch(`${one.url}/readyz`)).status === 200
    await until(isReady, 'readyz that is 200')
  })

  it('answer 503 while failures cannot be counted, and use up no code', async () => {
    const caller = createCaller((await start('one')).url)
    await caller.register('ada')
    const { code } = JSON.parse((await registry('users', 'reset-code', 'ada', '--json')).stdout)
    const body = { username: 'ada', code, new_password: 'another honest phrase' }
    const reset = () => caller.call('POST', '/reset', undefined, body)
    await postgres.run('ALTER TABLE login_failures RENAME TO moved', env.SERVICE_DATABASE_URL)
    for (const answer of [await caller.login('ada'), await reset()]) {
      expect([answer.status, answer.json.code]).to.deep.equal([503, 'storage-unavailable'])
    }
    await postgres.run('ALTER TABLE moved RENAME TO login_failures', env.SERVICE_DATABASE_URL)
    expect((await reset()).status).to.equal(200)
    expect((await caller.login('ada', 'another honest phrase')).status).to.equal(200)
  })
})
