import { expect } from 'chai'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openPostgresStore } from '../../src/server/accounts/postgres/postgres-store.ts'
import { until } from '../helpers/until.ts'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { startAccountsProcess } from '../helpers/accounts-process.ts'
import { cleanEnv, runProgram, startProgram } from '../helpers/program.ts'
import { type Postgres, startPostgres } from './postgres.ts'

describe('registry migrate', () => {
  let postgres: Postgres
  let folder: string
  let env: Record<string, string>
  /** What a member has: tokens that are valid, and one that was logged out. */
  let member: { access: string; refresh: string; token: string; ended: string }

  before(async function () {
    postgres = await startPostgres(this)
    folder = fs.mkdtempSync(join(tmpdir(), 'migrate-'))
    const { caller, stop } = await serve(data('files'))
    await caller.register('ada')
    const { access_token: ended } = (await caller.login('ada')).json
    await caller.call('POST', '/logout', ended)
    const { access_token: access, refresh_token: refresh } = (await caller.login('ada')).json
    member = { access, refresh, token: await caller.makeToken(access), ended }
    await caller.login('ada', 'a wrong phrase of some length')
    await stop()
    await run('files', 'invite')
    await run('files', 'users', 'reset-code', 'ada')
    addAudit(data('files'), 20_000)
  })
  after(async () => {
    fs.rmSync(folder, { recursive: true, force: true })
    await postgres?.remove()
  })
  beforeEach(async () => {
    env = { SERVICE_DATABASE_URL: await postgres.schema() }
  })

  const data = (name: string) => join(folder, name)
  const run = (name: string, ...words: string[]) =>
    runProgram(['registry', ...words, '--data-dir', data(name)], {
      env: cleanEnv(words[0] === 'migrate' ? env : {}),
    })
  const migrate = (to: 'database' | 'files', name: string) =>
    run(name, 'migrate', '--to', to, '--json')

  async function serve(dataDir: string, more: Record<string, string> = {}) {
    const server = await startAccountsProcess({ dataDir, flags: quickLimits, env: more })
    return { caller: createCaller(server.url), stop: () => server.stop() }
  }

  /** As many as a studio has after a year. */
  function addAudit(dataDir: string, rows: number): void {
    const db = new DatabaseSync(join(dataDir, 'registry.db'))
    db.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${rows})
      INSERT INTO audit (at_ms, action, account_id, address, details, keep_until_ms)
      SELECT i, 'login.failed', iif(i % 2, NULL, 'someone'), '10.0.0.1', '{"text":"ä \\u0000"}',
        9000000000000 FROM n`,
    ).run()
    db.close()
  }

  async function expectMember(dataDir: string, more: Record<string, string> = {}): Promise<void> {
    const { caller, stop } = await serve(dataDir, more)
    try {
      expect(await caller.me(member.access)).to.equal('200')
      expect(await caller.me(member.token)).to.equal('200')
      expect(await caller.me(member.ended)).to.equal('401 token-revoked')
      expect((await caller.refresh(member.refresh)).status).to.equal(200)
      expect((await caller.login('ada')).status).to.equal(200)
    } finally {
      await stop()
    }
  }

  it('copies all to the database and back, where every login and token goes on', async () => {
    const there = await migrate('database', 'files')
    expect(there.code, there.stderr).to.equal(0)
    const copied = JSON.parse(there.stdout)
    expect(copied.tables.accounts.rows).to.equal(1)
    expect(copied.tables.audit.rows).to.be.at.least(20_000)
    for (const table of ['sessions', 'service_tokens', 'invites', 'reset_codes', 'login_failures'])
      expect(copied.tables[table].rows, table).to.be.at.least(1)

    fs.mkdirSync(data('back'), { mode: 0o700 })
    fs.copyFileSync(join(data('files'), 'wrapping.key'), join(data('back'), 'wrapping.key'))
    const back = await migrate('files', 'back')
    expect(back.code, back.stderr).to.equal(0)
    const { tables, registry_id } = JSON.parse(back.stdout)
    expect(registry_id).to.equal(copied.registry_id)
    const { audit, ...others } = tables
    // The first move is in the audit of the database.
    expect(audit.rows).to.equal(copied.tables.audit.rows + 1)
    const { audit: _, ...before } = copied.tables
    expect(others).to.deep.equal(before)

    await expectMember(data('files'), env)
    await expectMember(data('back'))
  })

  it('leaves no accounts when it is killed in the middle, and can be repeated', async () => {
    const database = await postgres.open(env.SERVICE_DATABASE_URL)
    await openPostgresStore(database)
    const script = (sql: string) => database.run('x', queries => queries.script(sql))
    await script(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$;
      CREATE TRIGGER wait BEFORE INSERT ON accounts_audit FOR EACH ROW EXECUTE FUNCTION wait()`)
    const args = ['registry', 'migrate', '--to', 'database', '--data-dir', data('files')]
    const child = startProgram(args, { env: cleanEnv(env) })
    const waits = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'`
    await until(
      async () => (await database.run('x', queries => queries.rows(waits))).length > 0,
      'all tables but the last are written',
    )
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    // PostgreSQL notices when it wakes.
    await script(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event = 'PgSleep'`)
    await script('DROP TRIGGER wait ON accounts_audit')
    // Keys that were there would be lost.
    for (const table of ['accounts', 'accounts_keys']) {
      const rows = await database.run('x', queries => queries.rows(`SELECT 1 FROM ${table}`))
      expect(rows, table).to.deep.equal([])
    }
    await database.close()
    const repeated = await migrate('database', 'files')
    expect(repeated.code, repeated.stderr).to.equal(0)
    await expectMember(data('files'), env)
  })

  it('refuses a target with accounts, a running server, and a folder without any', async () => {
    expect((await migrate('database', 'files')).code).to.equal(0)
    const again = await migrate('database', 'files')
    expect(again.code).to.not.equal(0)
    expect(again.stdout + again.stderr).to.contain('there are accounts in')
    const over = await migrate('files', 'files')
    expect(over.stdout + over.stderr).to.contain('registry.db is there already')
    const none = await migrate('database', 'none')
    expect(none.stdout + none.stderr).to.contain('there is no accounts server in')
    expect(fs.existsSync(data('none'))).to.equal(false)

    const { stop } = await serve(data('files'))
    const busy = await migrate('database', 'files')
    await stop()
    expect(busy.stdout + busy.stderr).to.contain('an accounts server is running on')
  })

  it('refuses a folder with the log of another database', async () => {
    expect((await migrate('database', 'files')).code).to.equal(0)
    fs.mkdirSync(data('log'), { mode: 0o700 })
    fs.copyFileSync(join(data('files'), 'wrapping.key'), join(data('log'), 'wrapping.key'))
    fs.writeFileSync(join(data('log'), 'registry.db-wal'), 'a log')
    const refused = await migrate('files', 'log')
    expect(refused.stdout + refused.stderr).to.contain('registry.db-wal is there')
    expect(fs.existsSync(join(data('log'), 'registry.db'))).to.equal(false)
  })

  it('does not replace keys that are in the folder', async () => {
    expect((await migrate('database', 'files')).code).to.equal(0)
    fs.mkdirSync(data('keyed'), { mode: 0o700 })
    fs.copyFileSync(join(data('files'), 'wrapping.key'), join(data('keyed'), 'wrapping.key'))
    const { stop } = await serve(data('other'))
    await stop()
    fs.copyFileSync(join(data('other'), 'keys.json'), join(data('keyed'), 'keys.json'))
    const refused = await migrate('files', 'keyed')
    expect(refused.stdout + refused.stderr).to.contain('holds other keys')
    expect(fs.existsSync(join(data('keyed'), 'registry.db'))).to.equal(false)
  })
})
