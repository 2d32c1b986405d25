import { expect } from 'chai'
import { ok } from '../../../src/lib/util/result.ts'
import type { Reader } from '../../../src/server/resources/producer.ts'
import { another, CaptureBench, reasonOf, settled, target } from './capture-bench.ts'

/** A reader that leaves when it is told to. */
function leaving(): Reader & { leave(): void } {
  let told = () => {}
  return {
    onLeave(left) {
      told = left
      return () => (told = () => {})
    },
    leave: () => told(),
  }
}

describe('read of WindowCapture', () => {
  let bench: CaptureBench
  beforeEach(() => void (bench = new CaptureBench()))
  afterEach(() => bench.capture.close())

  async function ready(limits = {}): Promise<void> {
    bench.open(limits).aim(target)
    await bench.capture.tried
  }

  function finish(at: number): void {
    const { form, outcome } = bench.backend.takings[at] ?? expect.fail('not taken')
    outcome.resolve(ok(bench.backend.picture(form.maxWidth)))
  }

  it('reports each picture, but no failure', async () => {
    await ready({ captureReuseMs: 0 })
    bench.backend.failure = 'minimised'
    await reasonOf(bench.capture.read(100))
    expect(bench.taken).to.deep.equal([])
    bench.backend.failure = null
    await bench.capture.read(100)
    expect(bench.taken).to.deep.equal(['window'])
  })

  it('takes one picture for all waiting reads and for those within 250 ms', async () => {
    await ready()
    bench.backend.held = true
    const reads = [bench.capture.read(100), bench.capture.read(100), bench.capture.read(100)]
    finish(0)
    const [first, ...others] = await Promise.all(reads)
    for (const other of others) expect(other).to.equal(first)
    bench.time.advance(250)
    expect(bench.backend.takings).to.have.length(1)
    bench.time.advance(1)
    bench.capture.read(100).catch(() => {})
    expect(bench.backend.takings).to.have.length(2)
  })

  it('returns the base64 of a picture within the byte limit', async () => {
    await ready({ maxCaptureBytes: 5000 })
    const { base64 } = (await bench.capture.read(100)).blob
    expect(Buffer.from(Buffer.from(base64).toString('latin1'), 'base64').toString('hex')).to.match(
      /^89504e47/,
    )
    expect(bench.backend.takings[0]?.form).to.include({ maxBytes: 5000, maxWidth: 100 })
  })

  it('does not reuse a failure', async () => {
    await ready()
    bench.backend.failure = 'covered'
    expect(await reasonOf(bench.capture.read(100))).to.equal('covered')
    bench.backend.failure = null
    expect(await reasonOf(bench.capture.read(100))).to.equal('a picture')
  })

  it('aborts the capture when the last reader leaves', async () => {
    await ready()
    bench.backend.held = true
    const [one, other] = [leaving(), leaving()]
    void reasonOf(bench.capture.read(100, one))
    void reasonOf(bench.capture.read(100, other))
    const { signal } = bench.backend.takings[0]?.form ?? expect.fail('not taken')
    one.leave()
    expect(signal.aborted).to.equal(false)
    other.leave()
    expect(signal.aborted).to.equal(true)
    // A later read gets a picture of its own, not the end of that one.
    const next = bench.capture.read(100)
    finish(0)
    await settled()
    finish(1)
    expect(await reasonOf(next)).to.equal('a picture')
  })

  it('does not abort while another reader waits', async () => {
    await ready()
    bench.backend.held = true
    const one = leaving()
    void reasonOf(bench.capture.read(100))
    void reasonOf(bench.capture.read(100, one))
    one.leave()
    expect(bench.backend.takings[0]?.form.signal.aborted).to.equal(false)
  })

  it('takes a bounded number at once and queues the others', async () => {
    await ready({ maxCapturesAtOnce: 2 })
    bench.backend.held = true
    const reads = [101, 102, 103].map(width => bench.capture.read(width))
    expect(bench.backend.takings.map(({ form }) => form.maxWidth)).to.deep.equal([101, 102])
    finish(0)
    await settled()
    expect(bench.backend.takings.map(({ form }) => form.maxWidth)).to.deep.equal([101, 102, 103])
    finish(1)
    finish(2)
    await Promise.all(reads)
  })

  it('counts an aborted capture until its backend has ended', async () => {
    await ready({ maxCapturesAtOnce: 1 })
    bench.backend.held = true
    for (let count = 0; count < 3; count++) {
      const one = leaving()
      void reasonOf(bench.capture.read(101, one))
      one.leave()
    }
    void reasonOf(bench.capture.read(102))
    expect(bench.backend.takings).to.have.length(1)
    finish(0)
    await settled()
    expect(bench.backend.takings.map(({ form }) => form.maxWidth)).to.deep.equal([101, 102])
  })

  it('fails immediately when too many reads wait', async () => {
    await ready({ maxCaptureReaders: 2 })
    bench.backend.held = true
    const one = leaving()
    void reasonOf(bench.capture.read(100))
    void reasonOf(bench.capture.read(101, one))
    expect(await reasonOf(bench.capture.read(100))).to.equal('busy')
    one.leave()
    void reasonOf(bench.capture.read(100))
    expect(await reasonOf(bench.capture.read(100))).to.equal('busy')
  })

  it('returns no picture of an application that left', async () => {
    await ready()
    expect(await reasonOf(bench.capture.read(100))).to.equal('a picture')
    bench.backend.held = true
    const waiting = reasonOf(bench.capture.read(101))
    bench.capture.aim(another)
    expect(bench.backend.takings[1]?.form.signal.aborted).to.equal(true)
    expect(await waiting).to.equal('no_window')
    finish(1)
    await settled()
    void reasonOf(bench.capture.read(100))
    expect(bench.backend.takings.at(-1)?.target.pid).to.equal(4712)
    expect(bench.backend.takings).to.have.length(3)
  })

  it('aborts captures on close and probes no more', async () => {
    await ready()
    bench.backend.held = true
    const waiting = reasonOf(bench.capture.read(100))
    await bench.capture.close()
    expect(bench.backend.takings[0]?.form.signal.aborted).to.equal(true)
    expect(await waiting).to.equal('no_window')
    expect(bench.backend.closed).to.equal(1)
    bench.capture.aim(another)
    bench.time.advance(600_000)
    await settled()
    expect(bench.backend.probed).to.have.length(1)
  })
})
