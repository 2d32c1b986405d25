import { expect } from 'chai'
import { SessionEventBuffer } from '../../src/index.ts'
import { contentOf, listedUris, listen, readFailure, scene, useServer } from './support.ts'

type Append = Parameters<SessionEventBuffer['append']>[0]

const levels = ['trace', 'debug', 'info', 'warning', 'error'] as const

describe('events://session/<session_id>', () => {
  const section = useServer()
  let count = 0

  /** A registered buffer of a session of its own with the messages 1, 2, 3, …. */
  function filled(events: number, options: { maxlen?: number; maxMessageBytes?: number } = {}) {
    const buffer = new SessionEventBuffer({ sessionId: `s${++count}`, ...options })
    for (let n = 1; n <= events; n++) append(buffer, { message: `${n}` })
    section.server.resources().registerSessionEventBuffer(buffer)
    return buffer
  }

  function append(buffer: SessionEventBuffer, event: Partial<Append>): void {
    buffer.append({ source: 'maya', stream: 'stdout', message: 'm', ...event })
  }

  const page = (buffer: SessionEventBuffer, query = '') =>
    section.session.readJson(`${buffer.uri}${query}`)
  const ids = ({ events }: any): number[] => events.map((event: any) => event.id)

  it('is listed and read as application/json once its buffer is registered', async () => {
    const { uri } = filled(1)
    expect(await listedUris(section.session)).to.include(uri)
    expect(await contentOf(section.session, uri)).to.include({ mimeType: 'application/json' })
  })

  it('has all members of an event, the four of correlation always', async () => {
    const buffer = filled(0)
    append(buffer, {})
    append(buffer, {
      stream: 'stderr',
      level: 'debug',
      message: 'cook failed',
      toolCallId: 't',
      jobId: 'j',
      correlationId: 'c',
      metadata: { frame: 3 },
    })
    const { events } = await page(buffer)
    for (const event of events) {
      expect(event.timestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      delete event.timestamp
    }
    const plain = { session_id: buffer.sessionId, source: 'maya' }
    const none = { tool_call_id: null, job_id: null, correlation_id: null }
    const given = { tool_call_id: 't', job_id: 'j', correlation_id: 'c', metadata: { frame: 3 } }
    const failed = { stream: 'stderr', level: 'debug', message: 'cook failed' }
    expect(events).to.deep.equal([
      { ...plain, ...none, id: 1, stream: 'stdout', level: 'info', message: 'm' },
      { ...plain, ...given, ...failed, id: 2 },
    ])
  })

  it('has five levels; warn becomes warning, info is the default, others throw', async () => {
    const buffer = filled(1)
    for (const level of [...levels, 'warn'] as const) append(buffer, { level })
    expect(() => append(buffer, { level: 'fatal' as 'error' })).to.throw(TypeError)
    const { events } = await page(buffer)
    expect(events.map((event: any) => event.level)).to.deep.equal(['info', ...levels, 'warning'])
  })

  it('has the events after cursor, at most limit; next_cursor continues', async () => {
    const buffer = filled(10)
    const first = await page(buffer, '?cursor=0&limit=4')
    expect(ids(first)).to.deep.equal([1, 2, 3, 4])
    expect(first).to.include({ cursor: 0, next_cursor: 4, oldest_cursor: 1, newest_cursor: 10 })
    expect(ids(await page(buffer, '?cursor=4&limit=4'))).to.deep.equal([5, 6, 7, 8])
    expect(await page(buffer, '?cursor=0&limit=4')).to.deep.equal(first)
    expect(await page(buffer, '?cursor=10')).to.include({ cursor: 10, next_cursor: 10 })
  })

  it('removes the returned events and all older ones with drain=true', async () => {
    const buffer = filled(6)
    expect(ids(await page(buffer, '?cursor=2&limit=2&drain=true'))).to.deep.equal([3, 4])
    const rest = await page(buffer)
    expect(ids(rest)).to.deep.equal([5, 6])
    expect(rest).to.include({ retained_count: 2, dropped_count: 0 })
    expect(ids(await page(buffer, '?cursor=6&drain=true'))).to.deep.equal([])
    expect(ids(await page(buffer))).to.deep.equal([5, 6])
  })

  it('counts what is retained and dropped', async () => {
    const buffer = filled(7, { maxlen: 3 })
    const all = await page(buffer)
    expect(ids(all)).to.deep.equal([5, 6, 7])
    expect(all).to.include({ retained_count: 3, dropped_count: 4, oldest_cursor: 5 })
  })

  it('has 100 events by default, at least 1 and at most 1000; 1000 are retained by default', async () => {
    const buffer = filled(1001)
    for (const [query, length] of [
      ['', 100],
      ['?limit=0', 1],
      ['?limit=250', 250],
      ['?limit=5000', 1000],
    ] as const) {
      expect((await page(buffer, query)).events, query).to.have.length(length)
    }
    expect(await page(buffer, '?limit=1')).to.include({ retained_count: 1000, dropped_count: 1 })
  })

  it('refuses parameters out of their form with −32602, and drains nothing', async () => {
    const { uri } = filled(1)
    for (const wrong of ['cursor=-1', 'cursor=x', 'cursor=', 'limit=many', 'drain=maybe']) {
      const query = wrong.startsWith('drain') ? wrong : `${wrong}&drain=true`
      const { code } = await readFailure(section.session, `${uri}?${query}`)
      expect(code, query).to.equal(-32602)
    }
    expect((await section.session.readJson(uri)).retained_count).to.equal(1)
  })

  it('cuts a message at a character, over maxMessageBytes or 4096 bytes, and says so', async () => {
    for (const [buffer, max] of [
      [filled(0), 4096],
      [filled(0, { maxMessageBytes: 10 }), 10],
    ] as const) {
      append(buffer, { message: 'x'.repeat(max) })
      append(buffer, { message: `${'x'.repeat(max - 1)}ü` })
      const { events } = await page(buffer)
      expect(events[0].message).to.equal('x'.repeat(max))
      expect(events[0]).not.to.have.any.keys('truncation', 'metadata')
      expect(events[1].message).to.equal('x'.repeat(max - 1))
      expect(events[1].truncation).to.deep.equal({ original_size: max + 1 })
    }
  })

  it('has the percent-encoded session id; an id that is taken throws', async () => {
    const sessionIds = ['a', 'b c', 'ü/1']
    for (const sessionId of sessionIds) {
      const buffer = new SessionEventBuffer({ sessionId })
      append(buffer, { message: sessionId })
      section.server.resources().registerSessionEventBuffer(buffer)
      const uri = `events://session/${encodeURIComponent(sessionId)}`
      const { events } = await section.session.readJson(uri)
      expect(events[0].message).to.equal(sessionId)
    }
    const again = new SessionEventBuffer({ sessionId: 'a' })
    expect(() => section.server.resources().registerSessionEventBuffer(again)).to.throw(/already/)
  })

  it('is −32002 for a session without a buffer', async () => {
    const { code } = await readFailure(section.session, 'events://session/none')
    expect(code).to.equal(-32002)
  })

  it('is not pushed', async () => {
    const buffer = filled(0)
    const events = await listen(section.session, buffer.uri, scene)
    append(buffer, {})
    section.server.resources().setScene({})
    await events.until(() => events.updates.length > 0)
    expect(events.updates).to.deep.equal([scene])
  })
})
