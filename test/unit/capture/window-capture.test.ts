import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { fail, ok } from '../../../src/lib/util/result.ts'
import type { CaptureFailure } from '../../../src/server/capture/backend.ts'
import { noApplication } from '../../../src/server/capture/target.ts'
import { WindowCapture } from '../../../src/server/capture/window-capture.ts'
import { MemoryBackend, noDisplay } from '../../helpers/pictures.ts'
import { until } from '../../helpers/until.ts'

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
  let host: MemoryBackend
  let native: MemoryBackend
  let capture: WindowCapture
  let changes: number
  let taken: string[]

  beforeEach(() => {
    host = new MemoryBackend('host')
    native = new MemoryBackend('native')
    changes = 0
    taken = []
  })
  afterEach(() => capture.close())

  function open(backends = [native], captureMs = 10_000): WindowCapture {
    const onTaken = (view: string) => void taken.push(view)
    capture = new WindowCapture({ backends, captureMs, log: silentLogger, onTaken }, noApplication)
    capture.onChange(() => changes++)
    return capture
  }

  /** An application is linked and its window was looked for. */
  async function ready(backends = [native], captureMs?: number): Promise<void> {
    open(backends, captureMs).setTarget(target)
    await capture.probe()
  }

  describe('is available', () => {
    it('from the link of an application on, once its window is found, until that leaves', async () => {
      open()
      expect(capture.unavailable?.reason).to.equal('no_application')
      capture.setTarget(target)
      expect(capture.unavailable?.reason).to.equal('not_tried')
      await capture.probe()
      expect(capture.unavailable).to.equal(null)
      expect(changes).to.equal(1)
      capture.setTarget(fail(noApplication))
      expect(capture.unavailable?.reason).to.equal('no_application')
      expect(changes).to.equal(2)
      await capture.probe()
      expect(native.probed.map(({ pid }) => pid)).to.deep.equal([4711, 4711])
    })

    it('as the application itself draws it, though no window is seen', async () => {
      native.state = fail(noDisplay)
      await ready([host, native])
      expect(capture.unavailable).to.equal(null)
      host.state = fail(noApplication)
      await capture.probe()
      expect(capture.unavailable, 'why it is not seen from outside').to.equal(noDisplay)
    })

    it('not by a backend that throws', async () => {
      native.probe = () => Promise.reject(new Error('broken'))
      await ready()
      expect(capture.unavailable?.reason).to.equal('failed')
    })

    it('not after a failed read, when the window is not found any more', async () => {
      await ready()
      native.failure = 'no_display'
      native.state = fail(noDisplay)
      expect(await reasonOf(capture.read(100))).to.equal('no_display')
      await settled()
      expect(capture.unavailable).to.equal(noDisplay)
    })
  })

  describe('read', () => {
    function finish(backend: MemoryBackend, at: number): void {
      const { form, outcome } = backend.takings[at] ?? expect.fail('not taken')
      outcome.resolve(ok(backend.picture(form.maxWidth)))
    }
    const widths = () => native.takings.map(({ form }) => form.maxWidth)

    const failures: CaptureFailure['reason'][] = ['host_busy', 'minimised', 'failed']
    for (const failure of failures) {
      it(`is of the window as it is seen when the application says ${failure}`, async () => {
        await ready([host, native])
        expect(await reasonOf(capture.read(100))).to.equal('a picture')
        expect([host.takings.length, native.takings.length]).to.deep.equal([1, 0])
        host.failure = failure
        expect(await reasonOf(capture.read(100))).to.equal('a picture')
        native.failure = 'no_window'
        expect(await reasonOf(capture.read(100)), 'the first reason').to.equal(failure)
      })
    }

    it('tries the next backend when the first takes too long, and says it so', async () => {
      host.held = true
      await ready([host, native], 50)
      expect(await reasonOf(capture.read(100))).to.equal('a picture')
      expect(host.takings[0]?.form.signal.aborted).to.equal(true)
      native.held = true
      expect(await reasonOf(capture.read(100))).to.equal('timeout')
    })

    it('reports each picture that a client got, and neither failures nor those of notes', async () => {
      await ready()
      native.failure = 'minimised'
      await reasonOf(capture.read(100))
      expect(taken).to.deep.equal([])
      native.failure = null
      await Promise.all([capture.read(100), capture.read(100)])
      expect(taken).to.deep.equal(['window', 'window'])
      expect(await reasonOf(capture.shot({ camera: 'Camera' }, 100))).to.equal('failed')
      expect(taken).to.have.length(2)
    })

    it('takes one picture for all who wait for it, and another for the next', async () => {
      await ready()
      native.held = true
      const reads = [capture.read(100), capture.read(100), capture.read(100)]
      await settled()
      finish(native, 0)
      const [first, ...others] = await Promise.all(reads)
      for (const other of others) expect(other).to.equal(first)
      const next = capture.read(100)
      await settled()
      finish(native, 1)
      expect(await next).not.to.equal(first)
    })

    it('takes one picture at a time, and aborts one when its last reader leaves', async () => {
      await ready()
      native.held = true
      const [one, other] = [new AbortController(), new AbortController()]
      void reasonOf(capture.read(100, one.signal))
      void reasonOf(capture.read(100, other.signal))
      const next = capture.read(101)
      await settled()
      expect(widths()).to.deep.equal([100])
      const { signal } = native.takings[0]?.form ?? expect.fail('not taken')
      one.abort()
      expect(signal.aborted).to.equal(false)
      other.abort()
      expect(signal.aborted).to.equal(true)
      await until(() => native.takings.length === 2, 'the next one')
      finish(native, 1)
      expect(await reasonOf(next)).to.equal('a picture')
    })

    it('leaves the application some time after a picture from another place', async () => {
      const shots: string[] = []
      const viewport = {
        offered: () => true,
        capture: async () => (shots.push('taken'), ok(host.picture(100))),
      }
      await ready([Object.assign(host, { viewport })])
      const [first, second] = [1, 2].map(width => capture.shot({ camera: 'Camera' }, width))
      await first
      await settled()
      expect(shots).to.have.length(1)
      await second
      expect(shots).to.have.length(2)
    })

    it('fails immediately when too many pictures wait', async () => {
      await ready()
      native.held = true
      for (let width = 1; width <= 65; width++) void reasonOf(capture.read(width))
      await settled()
      expect(await reasonOf(capture.read(100))).to.equal('busy')
    })

    it('returns no picture of an application that left', async () => {
      await ready()
      native.held = true
      const waiting = [reasonOf(capture.read(100)), reasonOf(capture.read(101))]
      await settled()
      capture.setTarget(another)
      expect(native.takings[0]?.form.signal.aborted).to.equal(true)
      expect(await Promise.all(waiting)).to.deep.equal(['no_window', 'no_window'])
      await capture.probe()
      void reasonOf(capture.read(100))
      await settled()
      expect(native.takings.map(({ target: { pid } }) => pid)).to.deep.equal([4711, 4712])
    })
  })
})
