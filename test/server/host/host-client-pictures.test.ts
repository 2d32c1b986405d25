import { expect } from 'chai'
import {
  HostBusy,
  HostClient,
  type PictureHandler,
  type PictureOptions,
  type PictureQuestion,
  PictureUnavailable,
} from '../../../src/host-client.ts'
import type { CaptureView } from '../../../src/server/resources/capture-source.ts'
import { captureInApp } from '../../../src/server/capture/host-backend.ts'
import { pngOf } from '../../helpers/png.ts'
import { token } from './harness.ts'
import { LinkServer } from './link/link-server.ts'
import { until } from '../../helpers/until.ts'

const png = pngOf(40, 30)

describe('pictures that a program with the client takes of itself', () => {
  let server: LinkServer
  let host: HostClient
  afterEach(async () => {
    await host.stop()
    await server.stop()
  })

  async function begin(handler?: PictureHandler, options: PictureOptions = {}) {
    server = await LinkServer.start({ limits: { linkCaptureMs: 2000 } })
    const url = `http://127.0.0.1:${server.port}/host`
    host = new HostClient({ app: { dccType: 'blender', mode: 'gui' }, url, token })
    const withdraw = handler === undefined ? null : host.provideCapture(handler, options)
    host.start()
    await host.connected({ timeoutMs: 10_000 })
    return withdraw
  }
  const take = (view: CaptureView = 'window', signal = new AbortController().signal) =>
    captureInApp(server.pictures, { view, maxWidth: 100, maxBytes: 10_000, signal })
  const reason = async (view: CaptureView = 'window') => {
    const taken = await take(view)
    return taken.ok ? 'taken' : taken.failure.reason
  }
  const state = () => {
    const offered = server.pictures.offered()
    return offered.ok ? 'offered' : offered.failure.reason
  }

  it('reach whoever asked, with their bounds', async () => {
    const questions: PictureQuestion[] = []
    const window = { title: 'Blender', width: 80, height: 60 }
    await begin(question => {
      questions.push(question)
      return { png, window }
    })
    expect(await take()).to.deep.equal({ ok: true, value: { png, width: 40, height: 30, window } })
    expect(questions[0]).to.include({ target: 'window', maxWidth: 100, maxBytes: 10_000 })
    expect(await reason('viewport')).to.equal('failed')
    expect(questions).to.have.length(1)
  })

  it('may be bytes alone, come later, and be of the viewport', async () => {
    const handler = async ({ target }: PictureQuestion) =>
      target === 'viewport' ? new Uint8Array(png) : Promise.reject(new HostBusy())
    await begin(handler, { targets: ['window', 'viewport'] })
    expect(await reason('viewport')).to.equal('taken')
    expect(await reason()).to.equal('host_busy')
  })

  it('have an answer whatever the program does', async () => {
    const answers: [handler: () => any, reason: string][] = [
      [() => Promise.reject(new PictureUnavailable('minimised')), 'minimised'],
      [() => Promise.reject(new PictureUnavailable('permission', 'ask')), 'permission'],
      [() => Promise.reject(new Error('a secret')), 'failed'],
      [() => undefined, 'failed'],
      [() => ({ png: 'text' }), 'failed'],
      [() => new Uint8Array(0), 'failed'],
      [() => Buffer.alloc(10_001), 'failed'],
      [() => ({ png, window: { width: 1n } }), 'failed'],
      [() => Buffer.from('no picture'), 'failed'],
      [() => png, 'taken'],
    ]
    await begin(() => (answers[at]?.[0] ?? (() => png))())
    let at = 0
    for (const [, expected] of answers) {
      expect(await reason(), String(answers[at]?.[0])).to.equal(expected)
      at++
    }
    expect(JSON.stringify(server.log.lines)).not.to.contain('a secret')
  })

  it('are given up with the reader, and taken one at a time', async () => {
    let given: AbortSignal | undefined
    const finish = Promise.withResolvers<Buffer>()
    await begin(({ signal }) => ((given = signal), finish.promise))
    const leaving = new AbortController()
    const taking = take('window', leaving.signal)
    await until(() => given !== undefined, 'the question')
    leaving.abort()
    expect((await taking).ok).to.equal(false)
    await until(() => given?.aborted === true, 'the end of the question')
    expect(await reason(), 'while the first is at it').to.equal('host_busy')
    finish.resolve(png)
    expect(await reason()).to.equal('taken')
  })

  it('are offered from the call to its withdrawal, on every connection', async () => {
    await begin()
    expect(state()).to.equal('not_offered')
    const withdraw = host.provideCapture(() => png)
    expect(() => host.provideCapture(() => png)).to.throw(TypeError, 'already')
    await until(() => state() === 'offered', 'the offer')
    await host.stop()
    host.start()
    await host.connected({ timeoutMs: 10_000 })
    expect(state()).to.equal('offered')
    withdraw()
    await until(() => state() === 'not_offered', 'the withdrawal')
    const other = host.provideCapture(() => png)
    withdraw()
    await until(() => state() === 'offered', 'the offer of another handler')
    other()
  })

  it('are denied for as long as the program says so', async () => {
    await begin(() => png)
    host.denyCapture(true)
    await until(() => state() === 'denied', 'the denial')
    expect(await reason()).to.equal('permission')
    host.denyCapture(false)
    await until(() => state() === 'offered', 'its end')
    expect(await reason()).to.equal('taken')
  })

  it('must be of a kind that there is', async () => {
    await begin()
    const provide = host.provideCapture.bind(host) as (...args: unknown[]) => unknown
    expect(() => provide('a')).to.throw(TypeError)
    expect(() => provide(() => png, { targets: ['hologram'] })).to.throw(TypeError, 'window and')
  })

  it('come between the bytes of an artefact without harm to either', async () => {
    await begin(() => png)
    const bytes = Buffer.alloc(3 * 1024 * 1024, 'x')
    const sending = host.putArtefact(bytes, { mime: 'text/plain' })
    const reasons = [await reason(), await reason(), await reason()]
    expect(reasons).to.deep.equal(['taken', 'taken', 'taken'])
    expect((await sending).uri).to.match(/^artefact:/)
  })
})
