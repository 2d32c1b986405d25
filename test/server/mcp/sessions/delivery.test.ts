import { expect } from 'chai'
import { AuditLog } from '../../../../src/server/resources/audit-log.ts'
import { SessionEventBuffer } from '../../../../src/server/resources/session-event-buffer.ts'
import { type Events, RawSession, startServer, type TestServer } from '../../../helpers/mcp.ts'

const scene = 'scene://current'

describe('delivery to streams', () => {
  let running: TestServer
  const open: Events[] = []

  beforeEach(async () => {
    running = await startServer({
      limits: { maxStreamBufferBytes: 16_384, listChangedIntervalMs: 20 },
    })
  })
  afterEach(async () => {
    for (const events of open.splice(0)) events.close()
    await running.stop()
  })

  async function subscriber(uri = scene): Promise<{ session: RawSession; events: Events }> {
    const session = await RawSession.open(running.url)
    const events = await session.listen()
    open.push(events)
    expect(await session.call('resources/subscribe', { uri })).to.deep.include({ result: {} })
    return { session, events }
  }

  it('tells 50 sessions every update when they come one at a time', async () => {
    const all = []
    for (let n = 0; n < 50; n++) all.push(await subscriber())
    for (let update = 1; update <= 20; update++) {
      running.server.resources().setScene({ update })
      await Promise.all(
        all.map(({ events }) => events.until(() => events.updates.length === update)),
      )
    }
    for (const { events } of all) expect(events.updates).to.deep.equal(Array(20).fill(scene))
  })

  it('notifies for an equal scene and for null, too', async () => {
    const { events } = await subscriber()
    for (const value of [{ a: 1 }, { a: 1 }, null, null]) running.server.resources().setScene(value)
    await events.until(() => events.updates.length === 4)
  })

  it('carries the URI as it was subscribed, and nothing else', async () => {
    const { events } = await subscriber('scene://delta?since=0')
    running.server.resources().setScene({})
    await events.until(() => events.updates.length === 1)
    expect(events.messages).to.deep.equal([
      {
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri: 'scene://delta?since=0' },
      },
    ])
  })

  it('ends with unsubscribe, and with DELETE', async () => {
    const one = await subscriber()
    const other = await subscriber()
    await one.session.call('resources/unsubscribe', { uri: scene })
    running.server.resources().setScene({ n: 1 })
    await other.events.until(() => other.events.updates.length === 1)
    expect(one.events.updates).to.deep.equal([])
    await other.session.delete()
    await other.events.untilEnded()
    running.server.resources().setScene({ n: 2 })
    expect(other.events.updates).to.have.length(1)
  })

  it('queues nothing for a client without a stream', async () => {
    const { session, events } = await subscriber()
    events.close()
    await events.untilEnded()
    running.server.resources().setScene({ n: 1 })
    const again = await session.listen()
    open.push(again)
    // The subscription outlives the stream, so the next change is the first that arrives.
    running.server.resources().setScene({ n: 2 })
    await again.until(() => again.updates.length === 1)
    expect(again.updates).to.have.length(1)
  })

  it('goes to the newest stream of a session only, and ends the older one', async () => {
    const { session, events } = await subscriber()
    const newer = await session.listen()
    open.push(newer)
    await events.untilEnded()
    running.server.resources().setScene({})
    await newer.until(() => newer.updates.length === 1)
    expect(events.updates).to.deep.equal([])
  })

  it('never pushes for events and artefacts, though subscribing is answered', async () => {
    const { session, events } = await subscriber()
    const buffer = new SessionEventBuffer({ sessionId: 'job' })
    running.server.resources().registerSessionEventBuffer(buffer)
    const { result } = await session.call('resources/subscribe', { uri: 'events://session/job' })
    expect(result).to.deep.equal({})
    buffer.append({ source: 'x', stream: 'stdout', message: 'hello' })
    // Ordered behind anything the append could have sent.
    running.server.resources().setScene({})
    await events.until(() => events.updates.length > 0)
    expect(events.updates).to.deep.equal([scene])
  })

  it('announces a changed list', async () => {
    const { session, events } = await subscriber()
    running.server
      .resources()
      .registerSessionEventBuffer(new SessionEventBuffer({ sessionId: 'new' }))
    await events.until(() =>
      events.messages.some(m => m.method === 'notifications/resources/list_changed'),
    )
    const { result } = await session.call('resources/list')
    expect(result.resources.map((each: any) => each.uri)).to.include('events://session/new')
  })

  it('pushes each record of a wired audit log', async () => {
    const log = new AuditLog()
    const audited = await startServer({}, {}, server => server.resources().wireAuditLog(log))
    try {
      const session = await RawSession.open(audited.url)
      const events = await session.listen()
      open.push(events)
      await session.call('resources/subscribe', { uri: 'audit://recent?limit=2' })
      for (const action of ['one', 'two', 'three']) log.record({ action })
      await events.until(() => events.updates.length === 3)
      expect(new Set(events.updates)).to.deep.equal(new Set(['audit://recent?limit=2']))
      const page = await session.readJson('audit://recent?limit=2')
      expect(page.entries.map((entry: any) => entry.action)).to.deep.equal(['two', 'three'])
    } finally {
      await audited.stop()
    }
  })

  it('does not wait for a reader that never reads', async () => {
    const healthy = await subscriber()
    const stuck = await subscriber()
    stuck.events.response.pause()
    for (let n = 1; n <= 2000; n++) {
      running.server.resources().setScene({ n })
      await healthy.events.until(() => healthy.events.updates.length === n)
    }
    expect(await healthy.session.readJson(scene)).to.deep.equal({ n: 2000 })
  })

  it('tells every healthy stream about the last state of a burst of 10,000', async () => {
    const all = []
    for (let n = 0; n < 50; n++) all.push(await subscriber())
    for (let n = 1; n <= 10_000; n++) running.server.resources().setScene({ n })
    // Each reads after its last notification and must then see the last state.
    await Promise.all(
      all.map(async ({ session, events }) => {
        await events.until(() => events.updates.length > 0)
        for (;;) {
          const heard = events.updates.length
          const { n } = await session.readJson(scene)
          if (n === 10_000) return
          await events.until(
            () => events.updates.length > heard,
            'the announcement of the last state',
          )
        }
      }),
    )
  })
})
