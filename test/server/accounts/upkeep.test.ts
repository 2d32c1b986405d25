import { expect } from 'chai'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { sweepRegularly } from '../../../src/server/accounts/audit-trail.ts'
import { ManualTime } from '../../unit/resources/manual-time.ts'
import { auth, password, type AccountsServer, withAccountsServer } from './harness.ts'

async function fail({ call }: AccountsServer): Promise<void> {
  const answer = await call('POST', `${auth}/login`, {
    body: { username: 'nobody', password: 'wrong' },
  })
  expect(answer.status).to.equal(401)
}

describe('audit', () => {
  it('keeps so many entries, the newest, and security events before all others', () =>
    withAccountsServer(
      async registry => {
        await registry.register('alice')
        for (let count = 0; count < 5; count++) await fail(registry)
        const actions = (await registry.audited()).map(({ action }) => action)
        expect(actions).to.deep.equal(['login.failed', 'login.failed', 'account.registered'])
      },
      { limits: { maxAuditRows: 3 } },
    ))

  it('loses nothing of others to an account that makes and revokes tokens without end', () =>
    withAccountsServer(async registry => {
      await registry.register('bob')
      await fail(registry)
      const { access_token: token, account } = await registry.register('alice')
      const most = 1000
      const db = new DatabaseSync(join(registry.folder, 'registry.db'))
      const insert = db.prepare(`WITH RECURSIVE n(i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${most})
        INSERT INTO audit (at_ms, action, account_id, details, keep_until_ms)
        SELECT ?1, ?2, ?3, '{"old":true}', ?1 + 1 FROM n`)
      for (const action of ['token.created', 'token.revoked'])
        insert.run(registry.clock.nowMs, action, account.id)
      for (let count = 0; count < 3; count++) {
        const made = await registry.call('POST', `${auth}/tokens`, { token, body: { name: 'ci' } })
        await registry.call('DELETE', `${auth}/tokens/${made.json.id}`, { token })
      }
      const counts = db.prepare(`SELECT action, count(*) AS count,
        sum(details <> '{"old":true}') AS fresh FROM audit GROUP BY action`)
      const found = counts.all().map(row => [row['action'], row['count'], row['fresh']])
      db.close()
      expect(found).to.have.deep.members([
        ['account.registered', 2, 2],
        ['login.failed', 1, 1],
        ['token.created', most, 3],
        ['token.revoked', most, 3],
      ])
    }))

  it('says who, from where, and in which request', () =>
    withAccountsServer(async registry => {
      const { account } = await registry.register('alice')
      await registry.call('POST', `${auth}/login`, { body: { username: 'alice', password } })
      const [entry] = await registry.audited('login.ok')
      expect(entry).to.include({
        accountId: account.id,
        address: '127.0.0.1',
        atMs: registry.clock.nowMs,
      })
      const ids = registry.accessed.map(({ requestId }) => requestId)
      expect(ids).to.include(entry?.details.request_id)
    }))

  it('that cannot be written is in the log, and what it tells of is answered', () =>
    withAccountsServer(
      async registry => {
        await registry.register('alice')
        const [line] = registry.logged.filter(({ level }) => level === 'error')
        expect(line?.fields).to.include({ action: 'account.registered' })
      },
      { wrap: store => ({ ...store, audit: () => Promise.reject(new Error('no room')) }) },
    ))
})

describe('service tokens', () => {
  it('that were revoked are kept up to a bound, the newest', () =>
    withAccountsServer(async registry => {
      const { access_token: token, account } = await registry.register('alice')
      const made = await registry.call('POST', `${auth}/tokens`, { token, body: { name: 'ci' } })
      const db = new DatabaseSync(join(registry.folder, 'registry.db'))
      db.prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 600)
        INSERT INTO service_tokens (id, account_id, name, secret_hash, scopes, created_at_ms,
          expires_at_ms, revoked_at_ms) SELECT i, ?, 'old', i, '[]', 0, 1, i FROM n`,
      ).run(account.id)
      await registry.call('DELETE', `${auth}/tokens/${made.json.id}`, { token })
      const count = db.prepare('SELECT count(*) AS count FROM service_tokens').get()
      db.close()
      expect(count).to.deep.include({ count: 500 })
      const me = await registry.call('GET', `${auth}/me`, { token: made.json.token })
      expect(me.json.code).to.equal('token-revoked')
    }))
})

describe('sweepRegularly', () => {
  const limits = { accountSweepMs: 1000, accountKeepMs: 5000 }

  it('removes what is over for longer than it is kept, again and again until it is stopped', async () => {
    const time = new ManualTime()
    const swept: number[] = []
    const store = { sweep: async (beforeMs: number) => swept.push(time.now() - beforeMs) }
    const stop = sweepRegularly({ store, clock: time, timer: time, log: silentLogger, limits })
    time.advance(999)
    expect(swept).to.deep.equal([])
    for (const step of [1, 1000]) {
      time.advance(step)
      await new Promise(setImmediate)
    }
    expect(swept).to.deep.equal([5000, 5000])
    stop()
    expect(time.waiting).to.equal(0)
  })

  it('goes on after a failure, and says so', async () => {
    const time = new ManualTime()
    const warned: (string | undefined)[] = []
    const log = {
      ...silentLogger,
      warn: (_: object, message?: string) => void warned.push(message),
    }
    const store = { sweep: () => Promise.reject(new Error('locked')) }
    sweepRegularly({ store, clock: time, timer: time, log, limits })
    time.advance(1000)
    await new Promise(setImmediate)
    expect(warned).to.have.length(1)
    expect(time.waiting).to.equal(1)
  })
})
