import { expect } from 'chai'
import fc from 'fast-check'
import { type SseEvent, SseParser } from '../../../../src/lib/mcp/bridge/sse-parser.ts'

function parse(text: string, size: number, maxBytes = 1000): unknown[] {
  const parser = new SseParser(maxBytes)
  const bytes = Buffer.from(text)
  const events: SseEvent[] = []
  for (let at = 0; at < bytes.length; at += size) {
    events.push(...parser.push(bytes.subarray(at, at + size)))
  }
  return events.map(event => (event.kind === 'message' ? event.data.toString('utf8') : event))
}

describe('SseParser', () => {
  const table: [what: string, text: string, events: unknown[]][] = [
    ['a message', 'event: message\ndata: {"a":1}\n\n', ['{"a":1}']],
    ['only one space of several', 'data:  x\n\n', [' x']],
    ['data on several lines', 'data: a\ndata: b\n\n', ['a\nb']],
    ['all three line ends', 'data: a\r\n\r\ndata: b\r\rdata: c\n\n', ['a', 'b', 'c']],
    ['comments, ids and unknown fields', ': hi\nid: 7\nfoo: bar\ndata: a\n\n', ['a']],
    ['an event of another type', 'event: endpoint\ndata: /x\n\ndata: a\n\n', ['a']],
    ['a pause', 'retry: 250\ndata: a\n\n', [{ kind: 'retry', delayMs: 250 }, 'a']],
    ['a mark at the beginning', '\ufeffdata: a\n\n', ['a']],
    ['an event that is cut off', 'data: a\n\ndata: b\n', ['a']],
  ]
  for (const [what, text, events] of table) {
    it(`reads ${what}, however it is cut`, () => {
      for (const size of [1, 2, 3, 7, 1000])
        expect(parse(text, size), `${size}`).to.deep.equal(events)
    })
  }

  it('leaves out what is too large, and goes on with the next', () => {
    const large = 'x'.repeat(2000)
    for (const size of [1, 64, 5000]) {
      const events = parse(`data: ${large}\n\ndata: a\n\n`, size)
      expect(events).to.deep.equal([{ kind: 'oversize' }, 'a'])
      const spread = Array.from({ length: 50 }, () => `data: ${'x'.repeat(40)}\n`).join('')
      expect(parse(`${spread}\ndata: a\n\n`, size)).to.deep.equal([{ kind: 'oversize' }, 'a'])
    }
  })

  it('holds no more than it is allowed', () => {
    const parser = new SseParser(1000)
    for (let count = 0; count < 100; count++) {
      parser.push(Buffer.from(`data: ${'x'.repeat(90)}\n`))
      expect(parser.held).to.be.at.most(1100)
    }
  })

  it('gives every message that was written, however it is cut', () => {
    const texts = fc.array(fc.json({ maxDepth: 2 }), { maxLength: 5 })
    const end = fc.constantFrom('\n', '\r', '\r\n')
    fc.assert(
      fc.property(texts, end, fc.integer({ min: 1, max: 30 }), (messages, newline, size) => {
        const stream = messages.map(text => `data: ${text}${newline}${newline}`).join('')
        expect(parse(stream, size, 100_000)).to.deep.equal(messages)
      }),
      { numRuns: 1000 },
    )
  })
})
