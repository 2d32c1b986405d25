import { expect } from 'chai'
import { Readable } from 'node:stream'
import { recordLines } from '../../../../src/server/gateway/join/record-lines.ts'

const MiB = 1024 * 1024

describe('the lines of a record', () => {
  const linesOf = async (chunks: Iterable<Buffer>, maxBytes: number) => {
    const lines: string[] = []
    for await (const line of recordLines(Readable.from(chunks), maxBytes)) {
      lines.push(line.toString())
    }
    return lines
  }

  it('are whole however they are cut', async () => {
    const bytes = Buffer.from(`a\n\n${'b'.repeat(3000)}\nnever ended`)
    const expected = ['a', '', 'b'.repeat(3000)]
    for (const size of [1, 2, 1023, 1025, bytes.length]) {
      const count = Math.ceil(bytes.length / size)
      const chunks = Array.from({ length: count }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      )
      expect(await linesOf(chunks, 3000), `chunks of ${size} bytes`).to.deep.equal(expected)
    }
  })

  // A copy of all bytes for each chunk would not end before the timeout.
  it('of two megabytes arrive byte by byte', async () => {
    function* chunks() {
      for (let at = 0; at < 2 * MiB; at++) yield Buffer.from('x')
      yield Buffer.from('\n')
    }
    const [line] = await linesOf(chunks(), 2 * MiB)
    expect(line?.length).to.equal(2 * MiB)
  })

  it('fail when one is larger than a record may be', async () => {
    const error = await linesOf([Buffer.from('x'.repeat(11))], 10).catch(String)
    expect(error).to.include('larger than 10 bytes')
  })
})
