import { expect } from 'chai'
import { createLineSink } from '../../../src/lib/cli/line-sink.ts'

interface PendingWrite {
  chunk: string
  done: (error?: Error) => void
}

describe('createLineSink', () => {
  const notice = (count: number): string => `lost ${count}\n`

  it('drops lines beyond its bound and says how many once the reader goes on', () => {
    const { writes, write } = slowWriter()
    const sink = createLineSink({ write, notice, maxBytes: 10, batchBytes: 5 })
    sink.write('first\n')
    sink.write('12345678\n')
    sink.write('too much\n')
    sink.write('too much\n')
    expect(sink.dropped).to.equal(2)
    writes[0]?.done()
    expect(writes[1]?.chunk).to.equal('lost 2\n12345678\n')
  })

  it('flushes what waits, and does not wait longer than told for a stuck reader', async () => {
    const { writes, write } = slowWriter()
    const sink = createLineSink({ write, notice })
    sink.write('a\n')
    const flushed = sink.flush(60_000)
    expect(writes[0]?.chunk).to.equal('a\n')
    writes[0]?.done()
    await flushed
    sink.write('b\n')
    await sink.flush(1)
    expect(writes[1]?.chunk).to.equal('b\n')
  })
})

function slowWriter(): {
  writes: PendingWrite[]
  write: (chunk: string, done: (error?: Error) => void) => void
} {
  const writes: PendingWrite[] = []
  return { writes, write: (chunk, done) => void writes.push({ chunk, done }) }
}
