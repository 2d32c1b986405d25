import { expect } from 'chai'
import { fail, ok } from '../../../src/lib/util/result.ts'
import { noApplication } from '../../../src/server/capture/target.ts'
import { MemoryBackend, noDisplay } from '../../helpers/memory-capture.ts'
import { another, CaptureBench, reasonOf, settled, target } from './capture-bench.ts'

describe('availability of WindowCapture', () => {
  let bench: CaptureBench
  beforeEach(() => void (bench = new CaptureBench()))
  afterEach(() => bench.capture.close())

  it('starts when an application connects and its backend answers', async () => {
    bench.open()
    expect(bench.capture.unavailable?.reason).to.equal('no_application')
    bench.capture.aim(target)
    expect(bench.capture.unavailable?.reason).to.equal('not_tried')
    await bench.capture.tried
    expect(bench.capture.unavailable).to.equal(null)
    expect(bench.changes).to.equal(1)
  })

  it('ends with the application and is announced once', async () => {
    bench.open().aim(target)
    await bench.capture.tried
    bench.capture.aim(fail(noApplication))
    expect(bench.capture.unavailable?.reason).to.equal('no_application')
    expect(bench.changes).to.equal(2)
  })

  it('reports a missing display before an application connects', async () => {
    bench.backend.state = fail(noDisplay)
    bench.open().aim(fail(noApplication))
    await bench.capture.tried
    expect(bench.capture.unavailable?.reason).to.equal('no_application')
    expect(bench.capture.outside).to.equal(noDisplay)
    expect(bench.backend.probed).to.deep.equal([{ pid: process.pid, title: null }])
  })

  it('is probed again every 30 s while an application is connected', async () => {
    bench.backend.state = fail(noDisplay)
    bench.open().aim(target)
    await settled()
    expect(bench.capture.unavailable).to.equal(noDisplay)
    bench.backend.state = ok(null)
    bench.time.advance(29_999)
    await settled()
    expect(bench.capture.unavailable).to.equal(noDisplay)
    bench.time.advance(1)
    await settled()
    expect(bench.capture.unavailable).to.equal(null)
    expect(bench.changes).to.equal(1)
  })

  it('is probed again when the application connects, leaves or changes process', async () => {
    bench.open().aim(target)
    await settled()
    bench.capture.aim(another)
    await settled()
    bench.capture.aim(fail(noApplication))
    await settled()
    expect(bench.backend.probed.map(({ pid }) => pid)).to.deep.equal([4711, 4712, process.pid])
    bench.time.advance(600_000)
    await settled()
    expect(bench.backend.probed).to.have.length(3)
  })

  it('times out a silent backend and does not probe it again until it answers', async () => {
    const answer = Promise.withResolvers<Awaited<ReturnType<MemoryBackend['probe']>>>()
    let probes = 0
    bench.backend.probe = () => {
      probes++
      return answer.promise
    }
    bench.open().aim(target)
    bench.time.advance(6000)
    await bench.capture.tried
    expect(bench.capture.unavailable?.reason).to.equal('timeout')
    bench.time.advance(30_000)
    await settled()
    expect(probes).to.equal(1)
    answer.resolve(ok(null))
    await settled()
    bench.time.advance(30_000)
    await settled()
    expect(probes).to.equal(2)
    expect(bench.capture.unavailable).to.equal(null)
  })

  it('uses a working backend while another has not answered', async () => {
    const slow = new MemoryBackend('native')
    slow.probe = () => new Promise(() => {})
    const quick = new MemoryBackend('x11')
    bench.open({}, [slow, quick])
    bench.capture.aim(target)
    await settled()
    expect(bench.capture.state).to.deep.equal(ok(['x11']))
  })

  it('survives a backend whose probe throws', async () => {
    bench.backend.probe = () => {
      throw new Error('broken')
    }
    bench.open().aim(target)
    await bench.capture.tried
    expect(bench.capture.unavailable?.reason).to.equal('failed')
  })

  it('is probed again after a failed capture, at most once a second', async () => {
    bench.open().aim(target)
    await bench.capture.tried
    bench.backend.failure = 'no_display'
    bench.backend.state = fail(noDisplay)
    expect(await reasonOf(bench.capture.read(100))).to.equal('no_display')
    await settled()
    expect(bench.capture.unavailable).to.equal(noDisplay)
    expect(bench.backend.probed).to.have.length(2)
    await reasonOf(bench.capture.read(100))
    await settled()
    expect(bench.backend.probed).to.have.length(2)
  })

  it('is not probed again when the window is minimised', async () => {
    bench.open().aim(target)
    await bench.capture.tried
    bench.backend.failure = 'minimised'
    expect(await reasonOf(bench.capture.read(100))).to.equal('minimised')
    await settled()
    expect(bench.backend.probed).to.have.length(1)
  })
})
