import { expect } from 'chai'
import fc from 'fast-check'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { ManualTime } from './manual-time.ts'

const line = { source: 'maya', stream: 'stdout' }

function filled(count: number, maxlen = 1000): SessionEventBuffer {
  const buffer = new SessionEventBuffer({ sessionId: 's', maxlen })
  for (let n = 1; n <= count; n++) buffer.append({ ...line, message: `m${n}` })
  return buffer
}

describe('SessionEventBuffer', () => {
  it('retains no more bytes than it may, and counts what it dropped for that', () => {
    const buffer = new SessionEventBuffer({ sessionId: 's', maxBytes: 4000 })
    const message = 'x'.repeat(800)
    for (let n = 1; n <= 10; n++) buffer.append({ ...line, message })
    const sizes = buffer.page().events.map(event => JSON.stringify(event).length)
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    expect(bytes).to.be.within(4000 - Math.max(...sizes), 4000)
    expect(buffer.page()).to.deep.include({
      retained_count: sizes.length,
      dropped_count: 10 - sizes.length,
      gap: true,
      oldest_cursor: 11 - sizes.length,
      newest_cursor: 10,
    })
    // What was drained gives its room back.
    buffer.page({ drain: true })
    for (let n = 0; n < sizes.length; n++) buffer.append({ ...line, message })
    expect(buffer.retainedCount).to.equal(sizes.length)
  })

  it('retains the newest event, however large', () => {
    const buffer = new SessionEventBuffer({ sessionId: 's', maxBytes: 1 })
    for (const message of ['one', 'two']) buffer.append({ ...line, message, metadata: [message] })
    expect(buffer.page().events.map(({ message }) => message)).to.deep.equal(['two'])
    expect(() => new SessionEventBuffer({ sessionId: 's', maxBytes: 0 })).to.throw(TypeError)
  })

  it('stores an event in the wire shape, correlation fields always there', () => {
    const buffer = new SessionEventBuffer({ sessionId: 's', clock: new ManualTime() })
    const bare = {
      id: 1,
      timestamp: '2026-01-02T03:04:05.678Z',
      session_id: 's',
      tool_call_id: null,
      job_id: null,
      correlation_id: null,
      source: 'maya',
      stream: 'stdout',
      level: 'info',
      message: 'hello',
    }
    expect(buffer.append({ ...line, message: 'hello' })).to.deep.equal(bare)
    const full = buffer.append({
      ...line,
      message: 'hello',
      level: 'warn',
      toolCallId: 't',
      jobId: 'j',
      correlationId: 'c',
      metadata: { a: 1 },
    })
    expect(full).to.deep.equal({
      ...bare,
      id: 2,
      level: 'warning',
      tool_call_id: 't',
      job_id: 'j',
      correlation_id: 'c',
      metadata: { a: 1 },
    })
  })

  const refused: [why: string, event: unknown][] = [
    ['nothing', undefined],
    ['no source', { stream: 'a', message: 'm' }],
    ['no stream', { source: 'a', message: 'm' }],
    ['no message', line],
    ['an unknown level', { ...line, message: 'm', level: 'fatal' }],
    ['a job id of another type', { ...line, message: 'm', jobId: 5 }],
  ]
  for (const [why, event] of refused) {
    it(`refuses ${why} and adds nothing`, () => {
      const buffer = filled(0)
      expect(() => buffer.append(event as never)).to.throw(TypeError)
      expect(buffer.newestCursor).to.equal(0)
    })
  }

  const options: [why: string, options: object][] = [
    ['an empty session id', { sessionId: '' }],
    ['no session id', {}],
    ['half a character', { sessionId: '\ud800' }],
    ['a session id of a thousand escaped characters', { sessionId: '/'.repeat(1000) }],
    ['a session id whose URI has 1025 characters', { sessionId: 'a'.repeat(1008) }],
    ['maxlen 0', { sessionId: 's', maxlen: 0 }],
    ['half an event', { sessionId: 's', maxlen: 1.5 }],
    ['no message bytes', { sessionId: 's', maxMessageBytes: 0 }],
  ]
  for (const [why, given] of options) {
    it(`refuses ${why}`, () => {
      expect(() => new SessionEventBuffer(given as never)).to.throw(TypeError)
    })
  }

  it('takes a session id whose URI has 1024 characters', () => {
    const { uri } = new SessionEventBuffer({ sessionId: 'a'.repeat(1007) })
    expect(uri).to.have.length(1024)
  })

  const cuts: [message: string, max: number, kept: string][] = [
    ['abcd', 4, 'abcd'],
    ['abcde', 4, 'abcd'],
    ['aéé', 4, 'aé'],
    ['€€', 4, '€'],
    ['a😀', 4, 'a'],
    ['😀', 3, ''],
  ]
  for (const [message, max, kept] of cuts) {
    it(`keeps "${kept}" of "${message}" in ${max} bytes`, () => {
      const buffer = new SessionEventBuffer({ sessionId: 's', maxMessageBytes: max })
      const event = buffer.append({ ...line, message })
      expect(event.message).to.equal(kept)
      const sizes = {
        original_size: Buffer.byteLength(message),
        truncated_size: Buffer.byteLength(kept),
        max_size: max,
      }
      expect(event.truncation).to.deep.equal(message === kept ? undefined : sizes)
    })
  }

  it('cuts any message to a start of it within the bound', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, max) => {
        const buffer = new SessionEventBuffer({ sessionId: 's', maxMessageBytes: max })
        const { message } = buffer.append({ ...line, message: text })
        expect(Buffer.byteLength(message)).to.be.at.most(max)
        expect(text.startsWith(message)).to.equal(true)
      }),
    )
  })

  it('keeps only the size of large metadata, and survives any', () => {
    const buffer = filled(0)
    const metadata = (value: unknown) =>
      buffer.append({ ...line, message: 'm', metadata: value }).metadata
    expect(metadata('a'.repeat(5000))).to.deep.equal({ truncated: true, size_bytes: 5002 })
    expect(metadata({ a: 1n })).to.deep.equal({ truncated: true, size_bytes: null })
  })

  it('gives an empty page before the first event', () => {
    expect(filled(0).page()).to.deep.equal({
      cursor: 0,
      next_cursor: 0,
      oldest_cursor: null,
      newest_cursor: 0,
      retained_count: 0,
      dropped_count: 0,
      gap: false,
      events: [],
    })
  })

  it('goes through all events by next_cursor', () => {
    const buffer = filled(25)
    const seen: number[] = []
    let cursor = 0
    for (let page = 0; page < 3; page++) {
      const { events, next_cursor } = buffer.page({ cursor, limit: 10 })
      seen.push(...events.map(event => event.id))
      cursor = next_cursor
    }
    expect(seen).to.deep.equal(Array.from({ length: 25 }, (_, at) => at + 1))
    expect(buffer.page({ cursor })).to.deep.include({ next_cursor: 25, events: [], gap: false })
  })

  it('drops the oldest, counts them and tells the reader that missed them', () => {
    const buffer = filled(12, 5)
    expect(buffer).to.include({ droppedCount: 7, retainedCount: 5, newestCursor: 12 })
    const page = buffer.page({ cursor: 3 })
    expect(page).to.include({ oldest_cursor: 8, newest_cursor: 12, dropped_count: 7, gap: true })
    expect(page.events.map(event => event.id)).to.deep.equal([8, 9, 10, 11, 12])
    expect(buffer.page({ cursor: 6 }).gap).to.equal(true)
    expect(buffer.page({ cursor: 7 }).gap).to.equal(false)
  })

  it('drains what it returned and everything older, without a gap', () => {
    const buffer = filled(10)
    expect(buffer.page({ cursor: 4, limit: 2, drain: true })).to.include({
      next_cursor: 6,
      oldest_cursor: 7,
      retained_count: 4,
      dropped_count: 0,
    })
    const rest = buffer.page()
    expect(rest.events.map(event => event.id)).to.deep.equal([7, 8, 9, 10])
    expect(rest.gap).to.equal(false)
  })

  it('removes nothing when it drains an empty page', () => {
    const buffer = filled(10)
    expect(buffer.page({ cursor: 10, drain: true })).to.include({ retained_count: 10 })
    expect(buffer.page({ cursor: 99, drain: true })).to.include({
      retained_count: 10,
      next_cursor: 99,
    })
  })

  it('goes on after a drain: ids continue and only new losses are a gap', () => {
    const buffer = filled(12, 5)
    buffer.page({ drain: true })
    expect(buffer.page()).to.include({ retained_count: 0, oldest_cursor: null, gap: false })
    for (let n = 0; n < 6; n++) buffer.append({ ...line, message: 'm' })
    expect(buffer.page()).to.include({
      oldest_cursor: 14,
      newest_cursor: 18,
      dropped_count: 8,
      gap: true,
    })
  })

  it('takes bounds of its own for one event', () => {
    const limits = { maxEventTextBytes: 3, maxEventMetadataBytes: 10 }
    const buffer = new SessionEventBuffer({ sessionId: 's', limits })
    const metadata = { note: 'longer than ten' }
    const event = buffer.append({ source: 'blender', stream: 'stdout', message: 'm', metadata })
    expect(event.source).to.equal('ble')
    expect(event.metadata).to.include({ truncated: true })
  })
})
