import { expect } from 'chai'
import { SessionEventBuffer } from '../../../src/index.ts'
import { facts, failure, listedUris, readCode, serving } from '../facts.ts'

type Append = Parameters<SessionEventBuffer['append']>[0]

const uri = 'events://session/s1'

function filled(count: number, maxlen = 1000): SessionEventBuffer {
  const buffer = new SessionEventBuffer({ sessionId: 's1', maxlen })
  for (let n = 1; n <= count; n++) append(buffer, { message: `${n}` })
  return buffer
}

function append(buffer: SessionEventBuffer, event: Partial<Append>): void {
  buffer.append({ source: 'maya', stream: 'stdout', message: 'm', ...event })
}

/** Reads the queries one after the other. */
async function pages(buffer: SessionEventBuffer, ...queries: string[]): Promise<any[]> {
  const read: any[] = []
  await serving(async ({ session, server }) => {
    server.resources().registerSessionEventBuffer(buffer)
    for (const query of queries) read.push(await session.readJson(`${uri}${query}`))
  })
  return read
}

const ids = ({ events }: any): number[] => events.map((event: any) => event.id)

facts('decision: session events, payload', [
  [
    'an empty buffer',
    async () => {
      expect(await pages(filled(0), '')).to.deep.equal([
        {
          cursor: 0,
          next_cursor: 0,
          oldest_cursor: null,
          newest_cursor: 0,
          retained_count: 0,
          dropped_count: 0,
          gap: false,
          events: [],
        },
      ])
    },
  ],
  [
    'events after the cursor; next_cursor is the last id, or the cursor on an empty page',
    async () => {
      const [some, none] = await pages(filled(5), '?cursor=3', '?cursor=5')
      expect(ids(some)).to.deep.equal([4, 5])
      expect(some).to.include({ cursor: 3, next_cursor: 5, oldest_cursor: 1, newest_cursor: 5 })
      expect(none).to.include({ cursor: 5, next_cursor: 5 })
    },
  ],
  [
    'dropped_count is what retention lost; gap tells a reader that it missed some',
    async () => {
      const [all, since2, since4] = await pages(filled(7, 3), '', '?cursor=2', '?cursor=4')
      expect(all).to.include({ retained_count: 3, dropped_count: 4, oldest_cursor: 5, gap: true })
      expect(since2.gap).to.equal(true)
      expect(since4.gap).to.equal(false)
    },
  ],
  [
    'drained events are not dropped ones',
    async () => {
      const [, after] = await pages(filled(4), '?limit=2&drain=true', '')
      expect(after).to.include({ retained_count: 2, dropped_count: 0, gap: false })
      expect(ids(after)).to.deep.equal([3, 4])
    },
  ],
  [
    'drain on an empty page removes nothing',
    async () => {
      const [empty, after] = await pages(filled(3), '?cursor=3&drain=true', '')
      expect(empty.events).to.deep.equal([])
      expect(ids(after)).to.deep.equal([1, 2, 3])
    },
  ],
  [
    'limit: default 100, at least 1, at most 1000',
    async () => {
      const queries = ['', '?limit=0', '?limit=250', '?limit=5000']
      const read = await pages(filled(1200, 2000), ...queries)
      expect(read.map(page => page.events.length)).to.deep.equal([100, 1, 250, 1000])
    },
  ],
  [
    'parameters out of their form are −32602',
    () =>
      serving(async ({ session, server }) => {
        server.resources().registerSessionEventBuffer(filled(1))
        for (const query of ['cursor=-1', 'cursor=x', 'limit=many', 'drain=maybe', 'cursor=']) {
          expect(await readCode(session, `${uri}?${query}`), query).to.equal(-32602)
        }
      }),
  ],
])

const levels = ['trace', 'debug', 'info', 'warning', 'error'] as const

facts('decision: session events, event', [
  [
    'all members; ids count from 1; the time is RFC 3339 with milliseconds',
    async () => {
      const buffer = filled(0)
      append(buffer, {
        level: 'debug',
        toolCallId: 't',
        jobId: 'j',
        correlationId: 'c',
        metadata: { frame: 3 },
      })
      const [{ events }] = await pages(buffer, '')
      const { timestamp, ...rest } = events[0]
      expect(timestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(rest).to.deep.equal({
        id: 1,
        session_id: 's1',
        tool_call_id: 't',
        job_id: 'j',
        correlation_id: 'c',
        source: 'maya',
        stream: 'stdout',
        level: 'debug',
        message: 'm',
        metadata: { frame: 3 },
      })
    },
  ],
  [
    'truncation and metadata are absent when there is nothing to say',
    async () => {
      const [{ events }] = await pages(filled(1), '')
      expect(events[0]).not.to.have.any.keys('truncation', 'metadata')
    },
  ],
  [
    'the five levels, warn is taken for warning, info is the default, others throw',
    async () => {
      const buffer = filled(1)
      for (const level of [...levels, 'warn'] as const) append(buffer, { level })
      expect(() => append(buffer, { level: 'fatal' as 'error' })).to.throw(TypeError)
      const [{ events }] = await pages(buffer, '')
      expect(events.map((event: any) => event.level)).to.deep.equal(['info', ...levels, 'warning'])
    },
  ],
  [
    'a message over 4096 bytes is cut at a character and says so',
    async () => {
      const buffer = filled(0)
      append(buffer, { message: `${'x'.repeat(4095)}ü` })
      const [{ events }] = await pages(buffer, '')
      expect(events[0].message).to.equal('x'.repeat(4095))
      expect(events[0].truncation).to.deep.equal({
        original_size: 4097,
        truncated_size: 4095,
        max_size: 4096,
      })
    },
  ],
  [
    '1000 events are retained by default',
    async () => {
      const [page] = await pages(filled(1001), '?limit=1')
      expect(page).to.include({ retained_count: 1000, dropped_count: 1, oldest_cursor: 2 })
    },
  ],
])

facts('decision: session events, any number of buffers', [
  [
    'after start, too; each under its own URI, its id percent-encoded; a taken id throws',
    () =>
      serving(async ({ session, server }) => {
        const sessionIds = ['a', 'b c', 'ü/1']
        for (const sessionId of sessionIds) {
          const buffer = new SessionEventBuffer({ sessionId })
          append(buffer, { message: sessionId })
          server.resources().registerSessionEventBuffer(buffer)
        }
        const expected = sessionIds.map(id => `events://session/${encodeURIComponent(id)}`)
        expect(await listedUris(session)).to.include.members(expected)
        for (const [at, each] of expected.entries()) {
          const { events } = await session.readJson(each)
          expect(events[0].message).to.equal(sessionIds[at])
        }
        const again = new SessionEventBuffer({ sessionId: 'a' })
        expect(() => server.resources().registerSessionEventBuffer(again)).to.throw(/already/)
      }),
  ],
  [
    'a session without a buffer is not found',
    () =>
      serving(async ({ session }) => {
        const error = await failure(session, 'resources/read', { uri: 'events://session/none' })
        expect(error.code).to.equal(-32002)
      }),
  ],
])
