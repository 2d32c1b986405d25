import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { ok } from '../../../src/lib/util/result.ts'
import type { CaptureBackend } from '../../../src/server/capture/backend.ts'
import { takePicture } from '../../../src/server/capture/take-picture.ts'
import { MemoryBackend } from '../../helpers/memory-capture.ts'
import { ManualTime } from '../resources/manual-time.ts'

describe('takePicture', () => {
  let time: ManualTime
  let native: MemoryBackend
  let x11: MemoryBackend
  let host: MemoryBackend
  let hanging: Set<CaptureBackend>
  let stop: AbortController
  beforeEach(() => {
    time = new ManualTime()
    native = new MemoryBackend('native')
    x11 = new MemoryBackend('x11')
    host = new MemoryBackend('host')
    hanging = new Set()
    stop = new AbortController()
  })

  async function take(maxBytes = 10_000): Promise<string> {
    const target = { pid: 4711, title: null }
    const parts = { target, limits: { captureMs: 1000 }, timer: time, log: silentLogger, hanging }
    const form = { maxWidth: 30, maxBytes, signal: stop.signal }
    const taken = await takePicture({ ...parts, backends: [native, x11, host] }, form)
    return taken.ok ? `${taken.value.width}x${taken.value.height}` : taken.failure.reason
  }

  const asked = () => [native, x11, host].map(({ takings }) => takings.length)

  it('comes from the next when the first cannot', async () => {
    native.failure = 'permission'
    expect(await take()).to.equal('30x15')
    expect(asked()).to.deep.equal([1, 1, 0])
  })

  it('comes from the application itself when the window is covered, which all others see', async () => {
    native.failure = 'covered'
    expect(await take()).to.equal('30x15')
    expect(asked()).to.deep.equal([1, 0, 1])
  })

  it('fails for the first cause when all fail', async () => {
    native.failure = 'failed'
    x11.failure = 'minimised'
    host.failure = 'host_busy'
    expect(await take()).to.equal('minimised')
    expect(asked()).to.deep.equal([1, 1, 1])
  })

  it('does not wait for one that takes too long, tells it so, and asks it no more until it ends', async () => {
    native.held = true
    const first = take()
    time.advance(1000)
    expect(await first).to.equal('30x15')
    expect(native.takings[0]?.form.signal.aborted).to.equal(true)
    expect(await take()).to.equal('30x15')
    expect(asked()).to.deep.equal([1, 2, 0])
    native.takings[0]?.outcome.resolve(ok(native.picture(30)))
    native.held = false
    await new Promise(resolve => setImmediate(resolve))
    expect(await take()).to.equal('30x15')
    expect(asked()).to.deep.equal([2, 2, 0])
    expect(time.waiting).to.equal(0)
  })

  it('survives one that throws', async () => {
    native.capture = () => {
      throw new Error('a secret of the backend')
    }
    x11.capture = () => Promise.reject(new Error('another'))
    expect(await take()).to.equal('30x15')
  })

  const wrong: [what: string, spoil: () => void, maxBytes?: number][] = [
    ['too many bytes', () => {}, 20],
    [
      'no PNG',
      () => (native.picture = width => ({ ...x11.picture(width), png: Buffer.alloc(40) })),
    ],
    ['too wide', () => (native.picture = () => x11.picture(31))],
    ['of no size', () => (native.picture = width => ({ ...x11.picture(width), height: 0 }))],
  ]
  for (const [what, spoil, maxBytes] of wrong) {
    it(`refuses a picture that is not as asked for: ${what}`, async () => {
      spoil()
      x11.failure = 'failed'
      host.failure = 'failed'
      expect(await take(maxBytes)).to.equal('failed')
    })
  }
})
