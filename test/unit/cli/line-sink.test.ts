import { expect } from 'chai'
import { createLineSink } from '../../../src/lib/cli/line-sink.ts'

describe('createLineSink', () => {
  const chunks: string[] = []
  let written: ((error?: Error) => void)[]
  const sinkOf = (batchBytes: number) => {
    chunks.length = 0
    written = []
    return createLineSink({
      write(chunk, done) {
        chunks.push(chunk)
        written.push(done)
      },
      notice: count => `lost ${count}\n`,
      maxBytes: 10,
      batchBytes,
    })
  }

  it('drops lines beyond its bound and says how many once the reader goes on', () => {
    const sink = sinkOf(5)
    for (const line of ['first\n', '12345678\n', 'too much\n', 'too much\n']) sink.write(line)
    expect(sink.dropped).to.equal(2)
    written[0]?.()
    expect(chunks).to.deep.equal(['first\n', 'lost 2\n12345678\n'])
  })

  it('writes nothing more once the reader is gone', async () => {
    const sink = sinkOf(1)
    sink.write('a\n')
    sink.write('b\n')
    written[0]?.(new Error('EPIPE'))
    sink.write('c\n')
    await sink.flush(60_000)
    expect(chunks).to.deep.equal(['a\n'])
  })
})
