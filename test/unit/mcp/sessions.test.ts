import { expect } from 'chai'
import type { EventStream } from '../../../src/server/mcp/event-stream.ts'
import { Sessions } from '../../../src/server/mcp/sessions.ts'
import { SubscriptionHub } from '../../../src/server/mcp/subscriptions.ts'

describe('Sessions', () => {
  const stream = { end() {}, forget() {} } as unknown as EventStream

  function setUp(maxSessions = 3) {
    const clock = { timeMs: 0, now: () => clock.timeMs }
    const hub = new SubscriptionHub(100)
    const sessions = new Sessions({ hub, clock, limits: { maxSessions, sessionIdleMs: 1000 } })
    after(() => sessions.close())
    const open = (principal = 'p') => {
      const session = sessions.create('2025-11-25', principal)
      if (session === null) throw new Error('full')
      return session
    }
    const find = (id: string, principal = 'p') => sessions.find({ 'mcp-session-id': id }, principal)
    return { clock, hub, sessions, open, find }
  }

  it('end when idle, counted from their last use, with their subscriptions', () => {
    const { clock, open, hub, find } = setUp()
    const session = open()
    void hub.subscribe(session, 'a://b')
    for (const timeMs of [999, 1998]) {
      clock.timeMs = timeMs
      expect(find(session.id)).to.equal(session)
    }
    clock.timeMs = 2998
    expect(() => find(session.id)).to.throw('session not found')
    expect(hub.size).to.equal(0)
  })

  it('are swept without being asked for, except those with an open stream', () => {
    const { clock, sessions, open, find } = setUp()
    open()
    const streaming = open()
    streaming.stream = stream
    clock.timeMs = 1_000_000
    sessions.sweep()
    expect(sessions.size).to.equal(1)
    expect(find(streaming.id)).to.equal(streaming)
  })

  it('make room by ending the longest idle one without a stream, each time', () => {
    const { clock, sessions, open, find } = setUp(6)
    const all = Array.from({ length: 6 }, () => {
      clock.timeMs++
      return open()
    })
    const isLive = () => all.map(session => sessions.isLive(session))
    open()
    expect(isLive()).to.deep.equal([false, true, true, true, true, true])
    clock.timeMs++
    // Used, streaming, and ended by its client.
    find(all[1]!.id)
    all[2]!.stream = stream
    void sessions.delete(all[3]!)
    for (let count = 0; count < 2; count++) open()
    expect(isLive()).to.deep.equal([false, true, true, false, false, true])
    for (let count = 0; count < 2; count++) open()
    expect(isLive()).to.deep.equal([false, true, true, false, false, false])
    for (let count = 0; count < 4; count++) {
      clock.timeMs++
      open()
    }
    expect(isLive()).to.deep.equal([false, false, true, false, false, false])
  })
})
