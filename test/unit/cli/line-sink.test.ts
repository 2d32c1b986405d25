import { expect } from 'chai'
import { createLineSink } from '../../../src/lib/cli/line-sink.ts'

interface PendingWrite {
  chunk: string
  done: (error?: Error) => void
}

describe('createLineSink', () => {
  const notice = (count: number): string => `lost ${count}\n`

  it('gathers lines until a batch is full, one chunk on its way at a time', () => {
    const { writes, write } = slowWriter()
    const sink = createLineSink({ write, notice, batchBytes: 6 })
    sink.write('abc\n')
    expect(writes).to.have.length(0)
    sink.write('def\n')
    sink.write('second batch\n')
    expect(writes.map(({ chunk }) => chunk)).to.deep.equal(['abc\ndef\n'])
    writes[0]?.done()
    expect(writes[1]?.chunk).to.equal('second batch\n')
  })

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

  it('forgets everything once the reader is gone', async () => {
    const { writes, write } = slowWriter()
    const sink = createLineSink({ write, notice, batchBytes: 1 })
    sink.write('a\n')
    sink.write('b\n')
    writes[0]?.done(new Error('EPIPE'))
    sink.write('c\n')
    await sink.flush(60_000)
    expect(writes).to.have.length(1)
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
