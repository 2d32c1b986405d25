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

  const wrong: [member: string, options: object][] = [
    ['sessionId', {}],
    ['maxlen', { sessionId: 's', maxlen: NaN }],
    ['maxlen', { sessionId: 's', maxlen: 10_001 }],
    ['maxMessageBytes', { sessionId: 's', maxMessageBytes: 0 }],
    ['maxLen', { sessionId: 's', maxLen: 5 }],
  ]
  for (const [member, options] of wrong) {
    it(`refuses the options ${JSON.stringify(options)}, naming ${member}`, () => {
      expect(() => new SessionEventBuffer(options as never)).to.throw(TypeError, member)
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

  it('goes on after a drain: ids continue', () => {
    const buffer = filled(12, 5)
    buffer.page({ drain: true })
    expect(buffer.page()).to.include({ retained_count: 0, oldest_cursor: null })
    for (let n = 0; n < 6; n++) buffer.append({ ...line, message: 'm' })
    expect(buffer.page()).to.include({ oldest_cursor: 14, newest_cursor: 18, dropped_count: 8 })
  })
})
