import { expect } from 'chai'
import { createLineSink } from '../../../src/lib/cli/line-sink.ts'

describe('createLineSink', () => {
  it('drops lines beyond its bound and says how many once the reader goes on', () => {
    const chunks: string[] = []
    const done: (() => void)[] = []
    const sink = createLineSink({
      write(chunk, written) {
        chunks.push(chunk)
        done.push(written)
      },
      notice: count => `lost ${count}\n`,
      maxBytes: 10,
      batchBytes: 5,
    })
    for (const line of ['first\n', '12345678\n', 'too much\n', 'too much\n']) sink.write(line)
    expect(sink.dropped).to.equal(2)
    done[0]?.()
    expect(chunks).to.deep.equal(['first\n', 'lost 2\n12345678\n'])
  })
})
