import { expect } from 'chai'
import fc from 'fast-check'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'

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
    expect(buffer.page().retained_count).to.equal(sizes.length)
  })

  it('retains the newest event, however large', () => {
    const buffer = new SessionEventBuffer({ sessionId: 's', maxBytes: 1 })
    for (const message of ['one', 'two']) buffer.append({ ...line, message, metadata: [message] })
    expect(buffer.page().events.map(({ message }) => message)).to.deep.equal(['two'])
    expect(() => new SessionEventBuffer({ sessionId: 's', maxBytes: 0 })).to.throw(TypeError)
  })

  const refused: [why: string, event: unknown][] = [
    ['nothing', undefined],
    ['no source', { stream: 'a', message: 'm' }],
    ['no message', line],
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
    ['half a character', { sessionId: '\ud800' }],
    ['a session id of a thousand escaped characters', { sessionId: '/'.repeat(1000) }],
    ['a session id whose URI has 1025 characters', { sessionId: 'a'.repeat(1008) }],
    ['half an event', { sessionId: 's', maxlen: 1.5 }],
  ]
  for (const [why, given] of options) {
    it(`refuses ${why}`, () => {
      expect(() => new SessionEventBuffer(given as never)).to.throw(TypeError)
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
})
