import { expect } from 'chai'
import { until } from '../helpers/until.ts'
import { useLinkedApps } from './linked-app.ts'
import type { PythonApp } from './python-driver.ts'
import { type Peer, ScriptedServer } from './scripted-server.ts'

describe('the Python link: pictures of the application', () => {
  let server: ScriptedServer
  let app: PythonApp
  let peer: Peer

  const { link } = useLinkedApps()

  async function begin(targets: readonly string[] | null = ['window', 'viewport']) {
    ;({ server, app } = await link({}, {}, { start: false }))
    if (targets !== null) await app.tell({ provide: [targets] })
    await app.call('start')
    await app.untilState('connected')
    peer = await server.peer()
  }
  const capture = (id: string, members: object = {}) =>
    peer.send({
      type: 'capture',
      id,
      target: 'window',
      max_width: 1600,
      max_bytes: 5000,
      deadline_ms: 5000,
      ...members,
    })
  const picture = (what: unknown) => app.tell({ picture: what })

  it('are taken on the main thread, and follow right behind their answer', async () => {
    await begin()
    capture('s1')
    expect(await peer.answerTo('s1')).to.deep.include({
      type: 'ok',
      png_bytes: 10,
      view: { zoom: 8 },
    })
    await until(() => peer.binary.length === 1, 'the picture')
    expect(String(peer.binary[0])).to.equal('the window')
    expect(await app.get('asked')).to.deep.equal([['window', 1600, 5000, true]])
    expect(await app.get('pictured_at')).to.equal(null)
    peer.send({ type: 'captured', target: 'window' })
    await until(async () => Number(await app.get('pictured_at')) > 0, 'the time of the picture')
  })

  it('may be made by the thread of the link', async () => {
    await begin()
    await picture('later')
    capture('s1')
    expect(await peer.answerTo('s1')).to.include({ type: 'ok', png_bytes: 10 })
    await until(() => String(peer.binary[0]) === 'made later', 'the picture')
    expect((await app.get('asked')).at(-1)).to.equal('made on the main thread: False')
  })

  const failures = [
    { what: 'minimised', code: 'minimised', message: 'it lies in the task bar' },
    { what: 'empty', code: 'blank', message: 'the picture is empty' },
    { what: 'modal', code: 'busy', message: 'a dialog is open' },
    { what: 'broken', code: 'internal', message: 'on_capture failed: KeyError' },
    {
      what: 'wrong',
      code: 'internal',
      message: 'on_capture returned what cannot be sent: TypeError',
    },
  ]
  it('are refused with an error that tells no more than it should', async () => {
    await begin()
    for (const { what, ...error } of failures) {
      await picture(what)
      capture(what)
      expect(await peer.answerTo(what)).to.deep.include({ type: 'error', ...error })
    }
    expect(peer.binary).to.deep.equal([])
    expect(JSON.stringify(peer.messages)).not.to.contain('a secret of the application')
  })

  it('are offered in the greeting, and again on every connection', async () => {
    await begin()
    const offer = { targets: ['window', 'viewport'] }
    expect((await peer.nth('hello'))['capture']).to.deep.equal(offer)
    peer.ws.terminate()
    const second = await server.peer(2)
    expect((await second.nth('hello'))['capture']).to.deep.equal(offer)
  })

  it('are offered, withdrawn and denied in a running application', async () => {
    await begin(null)
    const told = async (n: number) => (await peer.nth('app.update', n))['capture']
    await app.tell({ provide: [] })
    expect(await told(1)).to.deep.equal({ targets: ['window'] })
    capture('s1', { target: 'viewport' })
    expect(await peer.answerTo('s1')).to.include({ code: 'unsupported' })
    await app.call('deny_capture')
    expect(await told(2)).to.deep.equal({ targets: [], denied: true })
    capture('s2')
    expect(await peer.answerTo('s2')).to.include({ code: 'unsupported' })
    await app.call('provide_capture', null)
    expect(await told(3)).to.deep.equal({ targets: [] })
    expect(await app.get('asked')).to.deep.equal([])
  })

  it('do not get between the bytes of an artefact', async () => {
    await begin()
    await app.named('put_artefact', { data_size: 3_000_000, mime: 'x/y' })
    await peer.nth('artefact.put')
    for (let n = 0; n < 5; n++) {
      capture(`p${n}`)
      await peer.answerTo(`p${n}`)
    }
    const all = () => peer.binary.reduce((sum, { length }) => sum + length, 0)
    await until(() => all() === 3_000_050, 'all bytes')
    const [first = -1] = peer.order.flatMap((kind, at) => (kind === 'ok' ? [at] : []))
    expect(peer.order[first + 1]).to.equal('bytes of 10')
  })
})
