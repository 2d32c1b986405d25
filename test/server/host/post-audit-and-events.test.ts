import { expect } from 'chai'
import { Harness, smallBounds } from './harness.ts'

describe('host routes', () => {
  let host: Harness
  beforeEach(async () => (host = await Harness.start(smallBounds)))
  afterEach(() => host.stop())

  describe('POST /host/v1/audit', () => {
    const record = {
      action: 'render.start',
      outcome: { denied: { reason: 'busy' } },
      actor: 'anna',
      params: { quality: 3 },
      duration_ms: 12.5,
      session_id: 's-1',
      timestamp: '2026-03-04T05:06:07+01:00',
    }

    it('records every member', async () => {
      const body = JSON.stringify({ records: [record, { action: 'save', actor: null }] })
      const answer = await host.post('/host/v1/audit', body)
      expect(answer.text).to.equal('{"ok":true,"count":2}')
      expect(host.sink.records).to.deep.equal([
        {
          action: 'render.start',
          outcome: { denied: { reason: 'busy' } },
          actor: 'anna',
          params: { quality: 3 },
          durationMs: 12.5,
          sessionId: 's-1',
          timestamp: '2026-03-04T04:06:07.000Z',
        },
        { action: 'save' },
      ])
    })

    it('records nothing of a post with one invalid record', async () => {
      const body = JSON.stringify({ records: [record, record, { action: 7 }] })
      const answer = await host.post('/host/v1/audit', body)
      expect(answer.status).to.equal(400)
      expect(answer.body.errors).to.deep.equal([
        { pointer: '/records/2/action', detail: 'must be a string' },
      ])
      host.expectNothingArrived()
    })

    it('accepts 100 records in a post, not 101', async () => {
      const post = (count: number) =>
        host.post('/host/v1/audit', JSON.stringify({ records: Array(count).fill({ action: 'a' }) }))
      const tooMany = await post(101)
      expect(tooMany.status).to.equal(400)
      expect(tooMany.body.errors?.[0]?.pointer).to.equal('/records')
      host.expectNothingArrived()
      expect((await post(100)).body).to.deep.equal({ ok: true, count: 100 })
    })
  })

  describe('POST /host/v1/events/<session_id>', () => {
    const event = { source: 'blender', stream: 'stdout', level: 'warn', message: 'low memory' }
    const post = (session: string, events: unknown) =>
      host.post(`/host/v1/events/${session}`, JSON.stringify({ events }))

    it('creates the buffer and appends every member', async () => {
      const full = {
        ...event,
        tool_call_id: 't',
        job_id: 'j',
        correlation_id: 'c',
        session_id: 'job:1',
        metadata: { frame: 4 },
      }
      const answer = await post('job%3A1', [full, { source: 'a', stream: 'b', message: '' }])
      expect(answer.status).to.equal(200)
      expect(answer.text).to.equal('{"ok":true,"next_cursor":2,"dropped":0}')
      const [first, second] = host.sink.buffers.get('job:1')?.page().events ?? []
      expect(first).to.deep.include({
        source: 'blender',
        stream: 'stdout',
        level: 'warning',
        message: 'low memory',
        session_id: 'job:1',
        tool_call_id: 't',
        job_id: 'j',
        correlation_id: 'c',
        metadata: { frame: 4 },
      })
      const empty = { tool_call_id: null, job_id: null, correlation_id: null }
      expect(second).to.include({ source: 'a', stream: 'b', level: 'info', message: '', ...empty })
    })

    it('appends to an existing buffer and counts dropped events', async () => {
      await post('s', [event, event])
      const answer = await post('s', [event, event, event])
      expect(answer.body).to.deep.equal({ ok: true, next_cursor: 5, dropped: 2 })
    })

    it('returns next_cursor 0 for a post without events', async () => {
      expect((await post('s', [])).body).to.deep.equal({ ok: true, next_cursor: 0, dropped: 0 })
    })

    it('returns 429 beyond the allowed number of buffers and keeps accepting known ones', async () => {
      await post('one', [event])
      await post('two', [event])
      const third = await post('three', [event])
      expect(third.status).to.equal(429)
      expect(third.body.code).to.equal('limit-reached')
      expect([...host.sink.buffers.keys()]).to.deep.equal(['one', 'two'])
      expect((await post('two', [event])).status).to.equal(200)
    })

    it('appends and creates nothing for one invalid event', async () => {
      const answer = await post('s', [event, { ...event, level: 'loud' }])
      expect(answer.status).to.equal(400)
      expect(answer.body.errors?.[0]?.pointer).to.equal('/events/1/level')
      host.expectNothingArrived()
    })

    for (const id of ['..', '%2e%2e', '..%2f..%2fetc', 'a%00b', '%ff', '%zz', 'a%20b', 'a%252fb']) {
      it(`refuses the session id ${id}`, async () => {
        expect((await post(id, [event])).status).to.equal(400)
        host.expectNothingArrived()
      })
    }
  })
})
