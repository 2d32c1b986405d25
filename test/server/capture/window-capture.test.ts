import { expect } from 'chai'
import type { CaptureMode } from '../../../src/lib/util/capture-mode.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { fail, ok } from '../../../src/lib/util/result.ts'
import { resolveCaptureLimits } from '../../../src/server/capture/limits.ts'
import { noApplication } from '../../../src/server/capture/target.ts'
import { WindowCapture } from '../../../src/server/capture/window-capture.ts'
import type { Reader } from '../../../src/server/resources/producer.ts'
import { MemoryBackend, noDisplay } from '../../helpers/memory-capture.ts'
import { ManualTime } from '../resources/manual-time.ts'

const target = ok({ pid: 4711, title: null })
const another = ok({ pid: 4712, title: null })

/** Every promise that can go on has gone on. */
const settled = () => new Promise<void>(resolve => setImmediate(resolve))

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

describe('WindowCapture', () => {
  let time: ManualTime
  let backend: MemoryBackend
  let changes: number
  let taken: string[]
  let capture: WindowCapture

  function open(mode: CaptureMode = 'auto', limits = {}): WindowCapture {
    time = new ManualTime()
    changes = 0
    taken = []
    const parts = {
      ...{ mode, backends: [backend], log: silentLogger, ticks: time, timer: time },
      onTaken: (view: string) => void taken.push(view),
    }
    capture = new WindowCapture({ ...parts, limits: resolveCaptureLimits(limits) }, noApplication)
    capture.onChange(() => changes++)
    return capture
  }

  beforeEach(() => void (backend = new MemoryBackend()))
  afterEach(() => capture.close())

  const reasonOf = (read: Promise<unknown>) =>
    read.then(
      () => 'a picture',
      error => error.data.reason as string,
    )

  describe('availability', () => {
    it('waits for an application, and for what its backend says', async () => {
      open()
      expect(capture.unavailable?.reason).to.equal('no_application')
      capture.aim(target)
      expect(capture.unavailable?.reason).to.equal('not_tried')
      await capture.tried
      expect(capture.unavailable).to.equal(null)
      expect(changes).to.equal(1)
    })

    it('goes with the application at once, and is told once', async () => {
      open().aim(target)
      await capture.tried
      capture.aim(fail(noApplication))
      expect(capture.unavailable?.reason).to.equal('no_application')
      expect(changes).to.equal(2)
    })

    it('knows before any application is there what stands in the way', async () => {
      backend.state = fail(noDisplay)
      open().aim(fail(noApplication))
      await capture.tried
      expect(capture.unavailable?.reason).to.equal('no_application')
      expect(capture.outside).to.equal(noDisplay)
      expect(backend.probed).to.deep.equal([{ pid: process.pid, title: null }])
    })

    it('is looked at again every 30 s while an application is there, and flips', async () => {
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

    it('is looked at again when the application comes, goes and is another process', async () => {
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

    it('does not wait for a backend that says nothing, and does not ask it again meanwhile', async () => {
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

    it('uses what works while another one still thinks about it', async () => {
      const slow = new MemoryBackend('native')
      slow.probe = () => new Promise(() => {})
      const quick = new MemoryBackend('x11')
      time = new ManualTime()
      const parts = { mode: 'auto', log: silentLogger, ticks: time, timer: time } as const
      const backends = [slow, quick]
      const limits = resolveCaptureLimits()
      capture = new WindowCapture({ ...parts, backends, limits }, noApplication)
      capture.aim(target)
      await settled()
      expect(capture.state).to.deep.equal(ok(['x11']))
    })

    it('survives a backend whose probe throws', async () => {
      backend.probe = () => {
        throw new Error('broken')
      }
      open().aim(target)
      await capture.tried
      expect(capture.unavailable?.reason).to.equal('failed')
    })

    it('is asked again after a capture that puts it in question, once a second at most', async () => {
      open().aim(target)
      await capture.tried
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

    it('is not asked again when the window is only covered or minimised', async () => {
      open().aim(target)
      await capture.tried
      backend.failure = 'minimised'
      expect(await reasonOf(capture.read(100))).to.equal('minimised')
      await settled()
      expect(backend.probed).to.have.length(1)
    })
  })

  describe('read', () => {
    async function ready(limits = {}): Promise<void> {
      open('auto', limits).aim(target)
      await capture.tried
    }

    function finish(at: number): void {
      const { form, outcome } = backend.takings[at] ?? expect.fail('not taken')
      outcome.resolve(ok(backend.picture(form.maxWidth)))
    }

    it('tells of each picture that was taken, and of no failure', async () => {
      await ready({ captureReuseMs: 0 })
      backend.failure = 'minimised'
      await reasonOf(capture.read(100))
      expect(taken).to.deep.equal([])
      backend.failure = null
      await capture.read(100)
      expect(taken).to.deep.equal(['window'])
    })

    it('takes one picture for all who wait for it, and for those within 250 ms after', async () => {
      await ready()
      backend.held = true
      const reads = [capture.read(100), capture.read(100), capture.read(100)]
      finish(0)
      const [first, ...others] = await Promise.all(reads)
      for (const other of others) expect(other).to.equal(first)
      time.advance(250)
      expect(backend.takings).to.have.length(1)
      time.advance(1)
      void capture.read(100)
      expect(backend.takings).to.have.length(2)
    })

    it('is the base64 of the picture, within the given bytes', async () => {
      await ready({ maxCaptureBytes: 5000 })
      const { base64 } = await capture.read(100)
      expect(
        Buffer.from(Buffer.from(base64).toString('latin1'), 'base64').toString('hex'),
      ).to.match(/^89504e47/)
      expect(backend.takings[0]?.form).to.include({ maxBytes: 5000, maxWidth: 100 })
    })

    it('does not keep a failure for the next reader', async () => {
      await ready()
      backend.failure = 'covered'
      expect(await reasonOf(capture.read(100))).to.equal('covered')
      backend.failure = null
      expect(await reasonOf(capture.read(100))).to.equal('a picture')
    })

    it('is given up when the last reader has left, not before', async () => {
      await ready()
      backend.held = true
      const [one, other] = [leaving(), leaving()]
      void reasonOf(capture.read(100, one))
      void reasonOf(capture.read(100, other))
      const { signal } = backend.takings[0]?.form ?? expect.fail('not taken')
      one.leave()
      expect(signal.aborted).to.equal(false)
      other.leave()
      expect(signal.aborted).to.equal(true)
      // Whoever comes now gets a picture of its own, not the end of that one.
      const next = capture.read(100)
      finish(0)
      await settled()
      finish(1)
      expect(await reasonOf(next)).to.equal('a picture')
    })

    it('is not given up while one waits that cannot leave', async () => {
      await ready()
      backend.held = true
      const one = leaving()
      void reasonOf(capture.read(100))
      void reasonOf(capture.read(100, one))
      one.leave()
      expect(backend.takings[0]?.form.signal.aborted).to.equal(false)
    })

    it('takes so many at the same time, the others in their turn', async () => {
      await ready({ maxCapturesAtOnce: 2 })
      backend.held = true
      const reads = [101, 102, 103].map(width => capture.read(width))
      expect(backend.takings.map(({ form }) => form.maxWidth)).to.deep.equal([101, 102])
      finish(0)
      await settled()
      expect(backend.takings.map(({ form }) => form.maxWidth)).to.deep.equal([101, 102, 103])
      finish(1)
      finish(2)
      await Promise.all(reads)
    })

    it('frees the place of one that was given up only when its backend is done with it', async () => {
      await ready({ maxCapturesAtOnce: 1 })
      backend.held = true
      for (let count = 0; count < 3; count++) {
        const one = leaving()
        void reasonOf(capture.read(101, one))
        one.leave()
      }
      void reasonOf(capture.read(102))
      expect(backend.takings).to.have.length(1)
      finish(0)
      await settled()
      expect(backend.takings.map(({ form }) => form.maxWidth)).to.deep.equal([101, 102])
    })

    it('fails at once when too many wait', async () => {
      await ready({ maxCaptureReaders: 2 })
      backend.held = true
      const one = leaving()
      void reasonOf(capture.read(100))
      void reasonOf(capture.read(101, one))
      expect(await reasonOf(capture.read(100))).to.equal('busy')
      one.leave()
      void reasonOf(capture.read(100))
      expect(await reasonOf(capture.read(100))).to.equal('busy')
    })

    it('gives nobody a picture of the application that left', async () => {
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

    it('gives up everything at the end, and asks nothing any more', async () => {
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
