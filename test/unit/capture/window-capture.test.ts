import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { fail, ok } from '../../../src/lib/util/result.ts'
import { resolveCaptureLimits } from '../../../src/server/capture/limits.ts'
import { noApplication } from '../../../src/server/capture/target.ts'
import { WindowCapture } from '../../../src/server/capture/window-capture.ts'
import { MemoryBackend, noDisplay } from '../../helpers/memory-capture.ts'
import { ManualTime } from '../resources/manual-time.ts'

const target = ok({ pid: 4711, title: null })
const another = ok({ pid: 4712, title: null })

/** Resolves after every promise that can settle now has settled. */
const settled = () => new Promise<void>(resolve => setImmediate(resolve))

/** 'a picture', or the reason why there is none. */
const reasonOf = (read: Promise<unknown>) =>
  read.then(
    () => 'a picture',
    error => error.data.reason as string,
  )

describe('WindowCapture', () => {
  let time: ManualTime
  let backend: MemoryBackend
  let capture: WindowCapture
  let changes: number
  let taken: string[]

  beforeEach(() => {
    time = new ManualTime()
    backend = new MemoryBackend()
    changes = 0
    taken = []
  })
  afterEach(() => capture.close())

  function open(limits = {}, backends = [backend]): WindowCapture {
    const parts = {
      mode: 'auto' as const,
      backends,
      log: silentLogger,
      ticks: time,
      timer: time,
      onTaken: (view: string) => void taken.push(view),
      limits: resolveCaptureLimits(limits),
    }
    capture = new WindowCapture(parts, noApplication)
    capture.onChange(() => changes++)
    return capture
  }

  /** Its backend works and an application is linked. */
  async function ready(limits = {}): Promise<void> {
    open(limits).aim(target)
    await capture.tried
  }

  describe('is available', () => {
    it('from the link of an application on, once its backend answers, until that leaves', async () => {
      open()
      expect(capture.unavailable?.reason).to.equal('no_application')
      capture.aim(target)
      expect(capture.unavailable?.reason).to.equal('not_tried')
      await capture.tried
      expect(capture.unavailable).to.equal(null)
      expect(changes).to.equal(1)
      capture.aim(fail(noApplication))
      expect(capture.unavailable?.reason).to.equal('no_application')
      expect(changes).to.equal(2)
    })

    it('only with a display, which is looked for before an application connects', async () => {
      backend.state = fail(noDisplay)
      open().aim(fail(noApplication))
      await capture.tried
      expect(capture.unavailable?.reason).to.equal('no_application')
      expect(capture.outside).to.equal(noDisplay)
      expect(backend.probed).to.deep.equal([{ pid: process.pid, title: null }])
    })

    it('when one of the probes that come every 30 s while an application is linked succeeds', async () => {
      backend.state = fail(noDisplay)
      open().aim(target)
      await settled()
      expect(capture.unavailable).to.equal(noDisplay)
      backend.state = ok(null)
      time.advance(29_999)
      await settled()
      expect(capture.unavailable).to.equal(noDisplay)
      time.advance(1)
      await settled()
      expect(capture.unavailable).to.equal(null)
      expect(changes).to.equal(1)
    })

    it('after a probe for each application, and none after it left', async () => {
      open().aim(target)
      await settled()
      capture.aim(another)
      await settled()
      capture.aim(fail(noApplication))
      await settled()
      expect(backend.probed.map(({ pid }) => pid)).to.deep.equal([4711, 4712, process.pid])
      time.advance(600_000)
      await settled()
      expect(backend.probed).to.have.length(3)
    })

    it('not while its backend is silent, which is not probed again until it answers', async () => {
      const answer = Promise.withResolvers<Awaited<ReturnType<MemoryBackend['probe']>>>()
      let probes = 0
      backend.probe = () => {
        probes++
        return answer.promise
      }
      open().aim(target)
      time.advance(6000)
      await capture.tried
      expect(capture.unavailable?.reason).to.equal('timeout')
      time.advance(30_000)
      await settled()
      expect(probes).to.equal(1)
      answer.resolve(ok(null))
      await settled()
      time.advance(30_000)
      await settled()
      expect(probes).to.equal(2)
      expect(capture.unavailable).to.equal(null)
    })

    it('not by a backend whose probe throws', async () => {
      backend.probe = () => Promise.reject(new Error('broken'))
      await ready()
      expect(capture.unavailable?.reason).to.equal('failed')
    })

    it('not after a failed capture whose cause is lasting, as a probe finds once a second', async () => {
      await ready()
      backend.failure = 'minimised'
      expect(await reasonOf(capture.read(100))).to.equal('minimised')
      await settled()
      expect(backend.probed).to.have.length(1)
      backend.failure = 'no_display'
      backend.state = fail(noDisplay)
      expect(await reasonOf(capture.read(100))).to.equal('no_display')
      await settled()
      expect(capture.unavailable).to.equal(noDisplay)
      expect(backend.probed).to.have.length(2)
      await reasonOf(capture.read(100))
      await settled()
      expect(backend.probed).to.have.length(2)
    })
  })

  describe('read', () => {
    function finish(at: number): void {
      const { form, outcome } = backend.takings[at] ?? expect.fail('not taken')
      outcome.resolve(ok(backend.picture(form.maxWidth)))
    }
    const widths = () => backend.takings.map(({ form }) => form.maxWidth)

    it('reports each picture, and no failure, which is not reused', async () => {
      await ready({ captureReuseMs: 0 })
      backend.failure = 'minimised'
      expect(await reasonOf(capture.read(100))).to.equal('minimised')
      expect(taken).to.deep.equal([])
      backend.failure = null
      expect(await reasonOf(capture.read(100))).to.equal('a picture')
      expect(taken).to.deep.equal(['window'])
    })

    it('takes one picture for all waiting reads and for those within 250 ms', async () => {
      await ready()
      backend.held = true
      const reads = [capture.read(100), capture.read(100), capture.read(100)]
      finish(0)
      const [first, ...others] = await Promise.all(reads)
      for (const other of others) expect(other).to.equal(first)
      time.advance(249)
      expect(await capture.read(100)).to.equal(first)
      time.advance(1)
      capture.read(100).catch(() => {})
      expect(backend.takings).to.have.length(2)
    })

    it('aborts the capture when the last reader leaves', async () => {
      await ready()
      backend.held = true
      const [one, other] = [new AbortController(), new AbortController()]
      void reasonOf(capture.read(100, one.signal))
      void reasonOf(capture.read(100, other.signal))
      const { signal } = backend.takings[0]?.form ?? expect.fail('not taken')
      one.abort()
      expect(signal.aborted).to.equal(false)
      other.abort()
      expect(signal.aborted).to.equal(true)
      // A later read gets a picture of its own, not the end of that one.
      const next = capture.read(100)
      finish(0)
      await settled()
      finish(1)
      expect(await reasonOf(next)).to.equal('a picture')
    })

    it('takes a bounded number at once, of which an aborted one counts until it ends', async () => {
      await ready({ maxCapturesAtOnce: 2 })
      backend.held = true
      const one = new AbortController()
      void reasonOf(capture.read(101, one.signal))
      one.abort()
      const reads = [102, 103, 104].map(width => capture.read(width))
      expect(widths()).to.deep.equal([101, 102])
      finish(0)
      await settled()
      expect(widths()).to.deep.equal([101, 102, 103])
      finish(1)
      await settled()
      finish(2)
      finish(3)
      await Promise.all(reads)
    })

    it('fails immediately when too many reads wait', async () => {
      await ready({ maxCaptureReaders: 2 })
      backend.held = true
      const one = new AbortController()
      void reasonOf(capture.read(100))
      void reasonOf(capture.read(101, one.signal))
      expect(await reasonOf(capture.read(100))).to.equal('busy')
      one.abort()
      void reasonOf(capture.read(100))
      expect(await reasonOf(capture.read(100))).to.equal('busy')
    })

    it('returns no picture of an application that left', async () => {
      await ready()
      expect(await reasonOf(capture.read(100))).to.equal('a picture')
      backend.held = true
      const waiting = reasonOf(capture.read(101))
      capture.aim(another)
      expect(backend.takings[1]?.form.signal.aborted).to.equal(true)
      expect(await waiting).to.equal('no_window')
      finish(1)
      await settled()
      void reasonOf(capture.read(100))
      expect(backend.takings.at(-1)?.target.pid).to.equal(4712)
      expect(backend.takings).to.have.length(3)
    })

    it('ends when it is closed, and nothing is probed any more', async () => {
      await ready()
      backend.held = true
      const waiting = reasonOf(capture.read(100))
      await capture.close()
      expect(backend.takings[0]?.form.signal.aborted).to.equal(true)
      expect(await waiting).to.equal('no_window')
      expect(backend.closed).to.equal(1)
      capture.aim(another)
      time.advance(600_000)
      await settled()
      expect(backend.probed).to.have.length(1)
    })
  })
})
