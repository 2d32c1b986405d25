import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { systemTimer } from '../../src/lib/util/time.ts'
import { listen } from '../../src/server/artefacts/database/listener.ts'
import { migrate } from '../../src/server/artefacts/database/migrations.ts'
import {
  type Database,
  openDatabase,
  type Queries,
} from '../../src/server/artefacts/database/pool.ts'
import { parseDatabaseUrl } from '../../src/server/database/settings.ts'
import { makePair, writePair } from '../helpers/certificate.ts'
import { until } from '../helpers/until.ts'
import { failureOf } from '../helpers/failure.ts'
import { freePort } from '../helpers/free-port.ts'
import { recordingLog } from '../helpers/recording-log.ts'
import { type Postgres, startPostgres } from './postgres.ts'

describe('a pool of connections to PostgreSQL', () => {
  let postgres: Postgres
  let database: Database
  before(async function () {
    postgres = await startPostgres(this)
  })
  after(() => postgres?.remove())
  beforeEach(async () => {
    database = await postgres.open(await postgres.schema())
  })
  afterEach(() => database.close())

  const one = (on = database) =>
    on.run('a question was not answered', queries => queries.row<{ x: number }>('SELECT 1 AS x'))

  it('rolls back a transaction that failed, and keeps its connection', async () => {
    await database.run('x', queries => queries.script('CREATE TABLE t (x INTEGER PRIMARY KEY)'))
    const add = (x: number) => (queries: { change(sql: string, x: number): Promise<number> }) =>
      queries.change('INSERT INTO t VALUES ($1)', x)
    await database.transact('x', add(1))
    const failing = database.transact('a row was not added', async queries => {
      await add(2)(queries)
      await add(1)(queries)
    })
    const failure = await failureOf(() => failing)
    expect(failure.code).to.equal('storage_failed')
    expect(failure.message).to.match(/a row was not added: duplicate key/)
    expect(await database.run('x', q => q.rows('SELECT x FROM t'))).to.deep.equal([{ x: 1 }])
  })

  it('says that a change may have been made when its connection is lost before the answer', async () => {
    await database.run('x', queries =>
      queries.script(`CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
        CREATE TABLE fragile (x INTEGER);
        CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON fragile DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION cut()`),
    )
    const add = (queries: Queries) => queries.change('INSERT INTO fragile VALUES (1)')
    const cut = (queries: Queries) => queries.rows('SELECT pg_terminate_backend(pg_backend_pid())')
    for (const change of [
      () => database.run('a row was not added', add),
      () => database.transact('a row was not added', add),
    ]) {
      const failure = await failureOf(change)
      expect(failure.message).to.include('a change was not confirmed')
      expect(failure.hint).to.include('may have been made')
    }
    const before = await failureOf(() => database.transact('a row was not added', cut))
    expect(before.message).to.include('a row was not added')
  })

  it('gives up the locks of a server that stops in the middle of a transaction', async () => {
    const lock = (queries: Queries) => queries.rows('SELECT pg_advisory_xact_lock(1)')
    const settings = parseDatabaseUrl(postgres.url(), 'the test')
    const frozen = await openDatabase({ settings, log: silentLogger, waitMs: 200 })
    const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>()
    const { promise: held, resolve: hold } = Promise.withResolvers<void>()
    const stuck = frozen.transact('x', async queries => {
      await lock(queries)
      hold()
      await thawed
    })
    await held
    await database.transact('x', lock)
    thaw()
    expect((await failureOf(() => stuck)).code).to.equal('storage_failed')
    await frozen.close()
  })

  it('runs a transaction again after a deadlock', async () => {
    await database.run('x', queries =>
      queries.script('CREATE TABLE t (id INTEGER, x INTEGER); INSERT INTO t VALUES (1, 0), (2, 0)'),
    )
    const sql = 'UPDATE t SET x = x + 1 WHERE id = $1'
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let runs = 0
    const change = (own: 0 | 1) =>
      database.transact('x', async queries => {
        runs++
        await queries.change(sql, own + 1)
        both[own]?.resolve()
        await both[1 - own]?.promise
        await queries.change(sql, 2 - own)
      })
    await Promise.all([change(0), change(1)])
    expect(runs).to.equal(3)
    const sums = await database.run('x', q => q.rows('SELECT x FROM t ORDER BY id'))
    expect(sums).to.deep.equal([{ x: 2 }, { x: 2 }])
  })

  it('answers again after all connections were ended, and after a crash of PostgreSQL', async () => {
    await Promise.all(Array.from({ length: 10 }, () => one()))
    await postgres.cutAll()
    // One of the connections may be found out by a statement.
    await until(async () => (await one().catch(() => null)) !== null, 'an answer')
    await Promise.all(Array.from({ length: 10 }, () => one()))

    postgres.stop('immediate')
    const failure = await failureOf(() => one())
    expect(failure.code).to.equal('storage_failed')
    expect(failure.message).to.contain(`${database.name}: a question was not answered`)
    postgres.start()
    await until(async () => (await one().catch(() => null)) !== null, 'an answer')
  })

  describe('that cannot be opened', () => {
    const word = 'not-to-be-shown'
    const open = (url: string) =>
      failureOf(() =>
        openDatabase({
          settings: parseDatabaseUrl(url, 'the test'),
          log: silentLogger,
          waitMs: 2000,
        }),
      )
    const withUser = (user: string) => postgres.url().replace('//app@', `//${user}:${word}@`)

    it('reports a wrong password without showing it', async () => {
      await database.run('x', queries =>
        queries.script(`CREATE ROLE locked LOGIN PASSWORD 'right'`),
      )
      await postgres.requirePassword('locked')
      for (const [url, reason] of [
        [withUser('locked'), 'the password is wrong'],
        [postgres.url().replace('//app@', '//locked@'), 'it asks for a password'],
      ] as const) {
        const failure = await open(url)
        expect(failure.code).to.equal('storage_failed')
        expect(failure.message).to.contain(reason)
        expect(JSON.stringify({ ...failure, text: String(failure) })).not.to.contain(word)
      }
    })

    it('reports an unknown database', async () => {
      const failure = await open(withUser('app').replace('/postgres', '/nothing'))
      expect(failure.message).to.match(/\/nothing: .*the database does not exist$/)
      expect(failure.hint).to.contain('createdb')
    })

    it('reports a port where nothing listens', async () => {
      const failure = await open(`postgres://app:${word}@127.0.0.1:${await freePort()}/postgres`)
      expect(failure.message).to.contain('connection refused')
      expect(String(failure.stack)).not.to.contain(word)
    })

    it('reports a server without TLS', async () => {
      const failure = await open(postgres.url('sslmode=verify-full'))
      expect(failure.message).to.contain('it has no TLS')
      expect(failure.hint).to.contain('sslmode=disable')
    })
  })

  describe('over TLS', () => {
    const names = ['127.0.0.1']
    const verified = (file: string) =>
      postgres.url(`sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`)
    const problem = async (url: string) => (await failureOf(() => postgres.open(url))).message

    it('accepts the certificate of the named authority alone, for the host of the address', async () => {
      const certFile = await postgres.useTls(makePair({ names }))
      await until(() => isOpen(verified(certFile)), 'PostgreSQL speaks TLS')
      const secure = await postgres.open(verified(certFile))
      const used = await secure.run('x', queries =>
        queries.row('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'),
      )
      expect(used).to.deep.equal({ ssl: true })
      await secure.close()
      expect(await problem(postgres.url('sslmode=verify-full'))).to.contain(
        'TLS failed (DEPTH_ZERO_SELF_SIGNED_CERT)',
      )

      const folder = await mkdtemp(join(tmpdir(), 'certificate-'))
      const other = await writePair(folder, makePair({ names }))
      expect(await problem(verified(other.certFile))).to.contain('TLS failed')
      await rm(folder, { recursive: true })

      await postgres.useTls(makePair({ names: ['db.studio.example'] }))
      const forAnother = async () =>
        (await problem(verified(certFile))).includes('ERR_TLS_CERT_ALTNAME')
      await until(forAnother, 'the certificate of another name')
    })

    async function isOpen(url: string): Promise<boolean> {
      const opened = await postgres.open(url).catch(() => null)
      await opened?.close()
      return opened !== null
    }
  })

  describe('migrations', () => {
    const first = { number: 1, name: 'first', sql: 'CREATE TABLE a (x TEXT)' }
    const second = {
      number: 2,
      name: 'second',
      sql: `ALTER TABLE a ADD COLUMN y TEXT; INSERT INTO a VALUES ('x', 'y')`,
    }
    const rows = () => database.run('x', queries => queries.rows('SELECT x, y FROM a'))

    it('are applied once by servers that start at the same time', async () => {
      const schema = await postgres.schema()
      await database.close()
      database = await postgres.open(schema)
      const others = await Promise.all([1, 2, 3].map(() => postgres.open(schema)))
      const all = [database, ...others, ...others]
      await Promise.all(all.map(each => migrate(each, 'test', [first, second])))
      await Promise.all(others.map(other => other.close()))
      expect(await rows()).to.have.length(1)
    })

    it('go on from the last one that was applied', async () => {
      await migrate(database, 'test', [first])
      const broken = { ...second, sql: 'CREATE TABLE b (x TEXT); CREATE TABLE b (x TEXT)' }
      const failure = await failureOf(() => migrate(database, 'test', [first, broken]))
      expect(failure.message).to.contain('its tables for test cannot be made')
      await migrate(database, 'test', [first, second])
      await migrate(database, 'another', [])
      expect(await rows()).to.have.length(1)
    })

    it('refuse tables of a newer version, and of a changed step', async () => {
      await migrate(database, 'test', [first, second])
      for (const known of [[first], [{ ...first, sql: 'CREATE TABLE c (x TEXT)' }, second]]) {
        const failure = await failureOf(() => migrate(database, 'test', known))
        expect(failure.message).to.contain('another version of this program')
        expect(failure.hint).to.contain('newest version')
      }
      expect(await rows()).to.have.length(1)
    })
  })

  it('rereads after a notice, and after its connection was replaced', async () => {
    let looks = 0
    const stop = listen({
      database,
      channel: 'test_channel',
      timer: systemTimer,
      log: recordingLog(),
      reread: async () => void looks++,
      pollMs: 60_000,
    })
    const tell = () => database.run('x', queries => queries.rows(`NOTIFY test_channel`))
    await until(() => looks === 1, 'the first look')
    await tell()
    await until(() => looks === 2, 'a look after a notice')

    await postgres.cutAll()
    await until(() => looks === 3, 'a look after the connection was replaced')
    await until(async () => (await tell().catch(() => null)) !== null, 'a notice sent')
    await until(() => looks === 4, 'a look after another notice')

    postgres.restart('immediate')
    await until(() => looks === 5, 'a look after a crash')
    stop()
    await until(async () => (await tell().catch(() => null)) !== null, 'a last notice')
    expect(looks).to.equal(5)
  })
})
