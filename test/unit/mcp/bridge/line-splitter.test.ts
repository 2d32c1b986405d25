import { expect } from 'chai'
import fc from 'fast-check'
import { LineSplitter } from '../../../../src/lib/mcp/bridge/line-splitter.ts'

/** All that a splitter gives for these chunks: the text of each line, or null for an oversize one. */
function split(chunks: readonly Buffer[], maxBytes: number): (string | null)[] {
  const splitter = new LineSplitter(maxBytes)
  const lines = chunks.flatMap(chunk => splitter.push(chunk))
  lines.push(...splitter.end())
  return lines.map(line => (line.kind === 'line' ? line.bytes.toString('latin1') : null))
}

/** The bytes cut at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map(place => place % (bytes.length + 1)), bytes.length]
  sorted.sort((a, b) => a - b)
  return sorted.slice(1).map((end, at) => bytes.subarray(sorted[at], end))
}

describe('LineSplitter', () => {
  it('gives the same lines wherever the bytes are cut', () => {
    const byte = fc.oneof(fc.constant(0x0a), fc.integer({ min: 0, max: 255 }))
    const bytes = fc.array(byte, { maxLength: 200 }).map(values => Buffer.from(values))
    const places = fc.array(fc.nat(200), { maxLength: 12 })
    fc.assert(
      fc.property(bytes, places, fc.integer({ min: 1, max: 40 }), (all, at, maxBytes) => {
        const lines = all.toString('latin1').split('\n')
        // What follows the last line end is a line when there is anything.
        if (lines.at(-1) === '') lines.pop()
        const expected = lines.map(line => (line.length > maxBytes ? null : line))
        expect(split(cut(all, at), maxBytes)).to.deep.equal(expected)
      }),
      { numRuns: 2000 },
    )
  })

  it('tells of an oversize line before it has ended, once', () => {
    const splitter = new LineSplitter(4)
    expect(splitter.push(Buffer.from('12345'))).to.deep.equal([{ kind: 'oversize' }])
    expect(splitter.push(Buffer.from('6789'))).to.deep.equal([])
    expect(splitter.push(Buffer.from('0\nab\n'))).to.have.length(1)
    expect(splitter.end()).to.deep.equal([])
  })
})
