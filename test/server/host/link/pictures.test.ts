import { expect } from 'chai'
import { createHostBackend } from '../../../../src/server/capture/host-backend.ts'
import { pictureFacts } from '../../../../src/server/capture/pictures.ts'
import { pngOf } from '../../../helpers/pictures.ts'
import { until } from '../../../helpers/until.ts'
import type { LinkClient } from '../../../helpers/link.ts'
import { LinkServer, type Message } from '../harness.ts'

const png = pngOf(40, 30)
const both = { capture: { targets: ['window', 'viewport'] } }
const target = { pid: null, title: null }
const form = () => ({ maxWidth: 100, maxBytes: 10_000, signal: new AbortController().signal })

describe('pictures that the application takes of itself', () => {
  let server: LinkServer
  let peer: LinkClient

  async function begin(members: Message = both, limits = {}): Promise<void> {
    server = await LinkServer.start({ limits })
    peer = await server.join('run-1', members)
  }
  const backend = () => createHostBackend(() => server.pictures)
  const capture = (more: object = {}) => backend().capture(target, { ...form(), ...more })
  async function asked(): Promise<any> {
    const question = await peer.next()
    expect(question.type).to.equal('capture')
    return question
  }
  const answer = (id: unknown, bytes: Buffer, members: object = {}) => {
    peer.say({ type: 'ok', id, png_bytes: bytes.length, ...members })
    peer.say(bytes)
  }
  async function reasonOf(taking: ReturnType<typeof capture>): Promise<string> {
    const outcome = await taking
    return outcome.ok ? 'taken' : outcome.failure.reason
  }
  const probe = async () => {
    const probed = await backend().probe(target)
    return probed.ok ? 'offered' : probed.failure.reason
  }

  it('come with what the application needs to draw the same again', async () => {
    await begin()
    const taking = capture()
    answer((await asked()).id, png, { more: 1, view: { eye: 7 } })
    expect(await taking).to.deep.equal({ ok: true, value: { png, view: { eye: 7 } } })
  })

  it('are scaled down when they are wider than asked for', async () => {
    await begin()
    const taking = capture()
    answer((await asked()).id, pngOf(200, 60))
    const taken = await taking
    const facts = taken.ok ? pictureFacts(taken.value.png) : null
    expect(facts).to.include({ width: 100, height: 30 })
  })

  it('are told to the application, also when they were taken from outside', async () => {
    await begin()
    server.pictures.captured('window')
    expect(await peer.next()).to.deep.equal({ type: 'captured', target: 'window' })
  })

  const codes: [code: string, reason: string][] = [
    ['minimised', 'minimised'],
    ['permission', 'permission'],
    ['busy', 'host_busy'],
    ['internal', 'failed'],
    ['toString', 'failed'],
  ]
  it('are refused with the reason of the application', async () => {
    await begin()
    for (const [code, reason] of codes) {
      const taking = capture()
      peer.say({ type: 'error', id: (await asked()).id, code, message: 'm' })
      expect(await reasonOf(taking), code).to.equal(reason)
    }
  })

  const wrong: [what: string, png: Buffer, members?: object][] = [
    ['is no PNG', Buffer.from('no picture')],
    ['has a view that is none', png, { view: 'from above' }],
    ['has a view of no end', png, { view: { eye: 'x'.repeat(5000) } }],
  ]
  it('are not taken when they are wrong, and the link goes on', async () => {
    await begin()
    for (const [what, bytes, members] of wrong) {
      const taking = capture()
      answer((await asked()).id, bytes, members)
      expect(await reasonOf(taking), what).to.equal('failed')
    }
    const without = capture()
    peer.say({ type: 'ok', id: (await asked()).id })
    expect(await reasonOf(without)).to.equal('failed')
    const taking = capture()
    answer((await asked()).id, png)
    expect(await reasonOf(taking)).to.equal('taken')
  })

  it('are cancelled when no reader waits, and dropped when they arrive late', async () => {
    await begin()
    const leaving = new AbortController()
    const taking = capture({ signal: leaving.signal })
    const { id } = await asked()
    leaving.abort()
    expect(await reasonOf(taking)).to.equal('timeout')
    expect(await peer.next()).to.deep.equal({ type: 'cancel', id })
    const second = capture()
    answer(id, png, { view: { is: 'too late' } })
    answer((await asked()).id, png)
    const outcome = await second
    expect(outcome).to.deep.equal({ ok: true, value: { png } })
    expect(await reasonOf(capture({ signal: leaving.signal }))).to.equal('timeout')
  })

  it('fail at once when the link is lost, before or meanwhile', async () => {
    await begin()
    const taking = capture()
    await asked()
    peer.ws.terminate()
    expect(await reasonOf(taking)).to.equal('host_disconnected')
    expect(await reasonOf(capture())).to.equal('host_disconnected')
    expect(await probe()).to.equal('no_application')
  })

  it('are as much there as the application says', async () => {
    await begin({ capture: { targets: ['window', 'hologram'], newer: 1 } })
    expect(await probe()).to.equal('offered')
    await peer.ask({ type: 'app.update', capture: { targets: [] } })
    expect(await probe()).to.equal('not_offered')
    await peer.ask({ type: 'app.update', capture: { targets: ['window'], denied: true } })
    expect(await probe()).to.equal('denied')
    expect(await reasonOf(capture())).to.equal('permission')
    expect(server.presence?.pictures).to.deep.equal({ targets: ['window'], denied: true })
    await peer.ask({ type: 'app.update', mode: 'gui' })
    expect(await probe(), 'as before').to.equal('denied')
    await peer.ask({ type: 'app.update', capture: { targets: ['viewport'] } })
    expect(await probe()).to.equal('not_offered')
    const other = await server.join('run-1', {})
    expect(await probe(), 'another hello says it anew').to.equal('not_offered')
    other.say({ type: 'bye' })
    await other.closed
    await until(() => server.presence?.connected === false)
    expect(await probe()).to.equal('no_application')
  })
})
