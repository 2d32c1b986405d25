import { expect } from 'chai'
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
