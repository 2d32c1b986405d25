import { expect } from 'chai'
import { SessionEventBuffer } from '../../src/index.ts'
import { facts, listedUris, serving } from './facts.ts'

type Append = Parameters<SessionEventBuffer['append']>[0]

function filled(count: number, maxlen = 1000, event: Partial<Append> = {}): SessionEventBuffer {
  const buffer = new SessionEventBuffer({ sessionId: 's1', maxlen })
  for (let n = 1; n <= count; n++) {
    buffer.append({ source: 'maya', stream: 'stdout', message: `line ${n}`, ...event })
  }
  return buffer
}

/** Reads the URI of the session's buffer with the query. */
async function page(buffer: SessionEventBuffer, ...queries: string[]): Promise<any[]> {
  const pages: any[] = []
  await serving(async ({ session, server }) => {
    server.resources().registerSessionEventBuffer(buffer)
    for (const query of queries) pages.push(await session.readJson(`events://session/s1${query}`))
  })
  return pages
}

const messages = ({ events }: any) => events.map((event: any) => event.message)

facts('specification: Session event resource', [
  [
    'a registered buffer is exposed as events://session/<session_id>',
    () =>
      serving(async ({ session, server }) => {
        server.resources().registerSessionEventBuffer(filled(1))
        expect(await listedUris(session)).to.include('events://session/s1')
        const { result } = await session.call('resources/read', { uri: 'events://session/s1' })
        expect(result.contents[0].mimeType).to.equal('application/json')
      }),
  ],
  [
    'append takes source, stream, level, message, tool call and job',
    async () => {
      const buffer = filled(0)
      buffer.append({
        source: 'houdini',
        stream: 'stderr',
        level: 'error',
        message: 'cook failed',
        toolCallId: 't1',
        jobId: 'j1',
      })
      const [{ events }] = await page(buffer, '')
      expect(events[0]).to.include({
        source: 'houdini',
        stream: 'stderr',
        level: 'error',
        message: 'cook failed',
        tool_call_id: 't1',
        job_id: 'j1',
      })
    },
  ],
  [
    'each event carries the four correlation members',
    async () => {
      const [plain] = await page(filled(1), '')
      expect(plain.events[0]).to.include({
        session_id: 's1',
        tool_call_id: null,
        job_id: null,
        correlation_id: null,
      })
      const [full] = await page(filled(1, 10, { correlationId: 'c1' }), '')
      expect(full.events[0].correlation_id).to.equal('c1')
    },
  ],
  [
    'cursor is the position after which events come, limit how many; next_cursor goes on',
    async () => {
      const [first, second] = await page(filled(10), '?cursor=0&limit=4', '?cursor=4&limit=4')
      expect(messages(first)).to.deep.equal(['line 1', 'line 2', 'line 3', 'line 4'])
      expect(first.next_cursor).to.equal(4)
      expect(messages(second)).to.deep.equal(['line 5', 'line 6', 'line 7', 'line 8'])
    },
  ],
  [
    'reading again without drain gives the same events',
    async () => {
      const [first, again] = await page(filled(3), '?cursor=0&limit=2', '?cursor=0&limit=2')
      expect(again).to.deep.equal(first)
    },
  ],
  [
    'drain=true removes the returned events and all older ones',
    async () => {
      const queries = ['?cursor=2&limit=2&drain=true', '?cursor=0']
      const [drained, rest] = await page(filled(6), ...queries)
      expect(messages(drained)).to.deep.equal(['line 3', 'line 4'])
      expect(messages(rest)).to.deep.equal(['line 5', 'line 6'])
    },
  ],
  [
    'the payload counts what is retained and what was dropped',
    async () => {
      const [{ retained_count, dropped_count, events }] = await page(filled(12, 5), '')
      expect(retained_count).to.equal(5)
      expect(dropped_count).to.equal(7)
      expect(events.map((event: any) => event.message)).to.include('line 12')
    },
  ],
])

facts('specification: Limits, SessionEventBuffer', [
  [
    'maxlen is how many events are retained: the oldest go',
    async () => {
      const [{ events }] = await page(filled(8, 3), '')
      expect(events.map((event: any) => event.message)).to.deep.equal([
        'line 6',
        'line 7',
        'line 8',
      ])
    },
  ],
  [
    'max_message_bytes bounds each message',
    async () => {
      const buffer = new SessionEventBuffer({ sessionId: 's1', maxMessageBytes: 10 })
      buffer.append({ source: 'a', stream: 'b', message: 'x'.repeat(10) })
      buffer.append({ source: 'a', stream: 'b', message: 'y'.repeat(11) })
      const [{ events }] = await page(buffer, '')
      expect(events[0].message).to.equal('x'.repeat(10))
      expect(events[1].message).to.equal('y'.repeat(10))
    },
  ],
])
