import { expect } from 'chai'
import { SubscriptionHub } from '../../../../src/server/mcp/subscriptions.ts'
import { Sessions } from '../../../../src/server/mcp/sessions/sessions.ts'
import type { EventStream } from '../../../../src/server/mcp/event-stream.ts'
import { apiKeyPolicy } from '../../../../src/server/http/authentication.ts'
import {
  ask,
  initializeBody,
  postHeaders,
  RawSession,
  rpc,
  startServer,
} from '../../../helpers/mcp.ts'

describe('Sessions', () => {
  const unlimited = { maxSubscriptions: 100, maxSubscriptionsPerSession: 10 }
  const stream = { end() {}, forget() {} } as unknown as EventStream

  function setUp(maxSessions = 3) {
    const clock = { timeMs: 0, now: () => clock.timeMs }
    const hub = new SubscriptionHub(unlimited)
    const sessions = new Sessions({ hub, clock, limits: { maxSessions, sessionIdleMs: 1000 } })
    after(() => sessions.close())
    const open = (principal = 'p') => {
      const session = sessions.open('2025-11-25', principal)
      if (session === null) throw new Error('full')
      return session
    }
    return { clock, hub, sessions, open }
  }

  it('belongs to the principal that opened it', () => {
    const { sessions, open } = setUp()
    const { id } = open('one')
    expect(sessions.find(id, 'one')).not.to.equal(null)
    expect(sessions.find(id, 'two')).to.equal(null)
  })

  it('ends when idle, counted from its last use', () => {
    const { clock, sessions, open, hub } = setUp()
    const session = open()
    void hub.subscribe(session, 'a://b')
    clock.timeMs = 999
    expect(sessions.find(session.id, 'p')).to.equal(session)
    clock.timeMs = 1998
    expect(sessions.find(session.id, 'p')).to.equal(session)
    clock.timeMs = 2998
    expect(sessions.find(session.id, 'p')).to.equal(null)
    expect(hub.size.subscriptions).to.equal(0)
  })

  it('stays as long as its stream is open', () => {
    const { clock, sessions, open } = setUp()
    const session = open()
    session.stream = stream
    clock.timeMs = 1_000_000
    sessions.sweep()
    expect(sessions.find(session.id, 'p')).to.equal(session)
  })

  it('is swept without being asked for', () => {
    const { clock, sessions, open } = setUp()
    open()
    clock.timeMs = 1000
    sessions.sweep()
    expect(sessions.size).to.equal(0)
  })

  it('makes room by ending the longest idle one without a stream', () => {
    const { clock, sessions, open } = setUp(3)
    const [first, second] = [open(), open()]
    clock.timeMs = 1
    const third = open()
    second.stream = stream
    sessions.find(first.id, 'p')
    clock.timeMs = 2
    sessions.find(first.id, 'p')
    open()
    expect(sessions.find(third.id, 'p'), 'the idlest').to.equal(null)
    expect(sessions.find(first.id, 'p')).to.equal(first)
    expect(sessions.size).to.equal(3)
  })

  it('ends the longest idle one each time, whatever was used since it last made room', () => {
    const { clock, sessions, open } = setUp(6)
    const all = Array.from({ length: 6 }, () => {
      clock.timeMs++
      return open()
    })
    const isLive = () => all.map(session => sessions.isLive(session))
    open()
    expect(isLive()).to.deep.equal([false, true, true, true, true, true])
    clock.timeMs++
    // Used, streaming, and ended by its client.
    sessions.find(all[1]!.id, 'p')
    all[2]!.stream = stream
    sessions.end(all[3]!)
    for (let count = 0; count < 2; count++) open()
    expect(isLive()).to.deep.equal([false, true, true, false, false, true])
    for (let count = 0; count < 2; count++) open()
    expect(isLive()).to.deep.equal([false, true, true, false, false, false])
    clock.timeMs++
    sessions.find(all[1]!.id, 'p')
    open()
    expect(isLive()).to.deep.equal([false, true, true, false, false, false])
    for (let count = 0; count < 4; count++) {
      clock.timeMs++
      open()
    }
    expect(isLive()).to.deep.equal([false, false, true, false, false, false])
  })

  it('has no room when every session has a stream', () => {
    const { sessions, open } = setUp(2)
    for (const session of [open(), open()]) session.stream = stream
    expect(sessions.open('2025-11-25', 'p')).to.equal(null)
  })
})

describe('a server with few sessions', () => {
  it('answers 503 with Retry-After when all have a stream, and serves again afterwards', async () => {
    const running = await startServer({ limits: { maxSessions: 1 } })
    try {
      const session = await RawSession.open(running.url)
      const events = await session.listen()
      const refused = await ask(running.url, {
        method: 'POST',
        headers: postHeaders,
        body: initializeBody(),
      })
      expect(refused.status).to.equal(503)
      expect(refused.headers['retry-after']).to.match(/^\d+$/)
      await session.delete()
      await events.untilEnded()
      await RawSession.open(running.url)
    } finally {
      await running.stop()
    }
  })
})

describe('a server with a key', () => {
  const key = 'k'.repeat(43)

  it('asks for it on POST, GET and DELETE, and not on the public paths', async () => {
    const running = await startServer({}, { auth: apiKeyPolicy(key) })
    try {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const { status, headers, json } = await ask(running.url, { method, headers: postHeaders })
        expect(status, method).to.equal(401)
        expect(headers['www-authenticate']).to.match(/^Bearer /)
        expect(json).to.have.property('error')
      }
      const wrong = { ...postHeaders, Authorization: 'Bearer wrong' }
      const refused = await ask(running.url, {
        method: 'POST',
        headers: wrong,
        body: initializeBody(),
      })
      expect(refused.status).to.equal(401)
      expect(refused.json.error).to.equal('invalid_token')
      const session = await RawSession.open(running.url, '2025-11-25', {
        Authorization: `Bearer ${key}`,
      })
      expect((await session.post(rpc('ping'))).status).to.equal(200)
      expect((await ask(`${running.base}/healthz`)).status).to.equal(200)
    } finally {
      await running.stop()
    }
  })
})
