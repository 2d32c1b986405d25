import { expect } from 'chai'
import { until } from '../helpers/until.ts'
import { type LinkOptions, type PythonApp, link, needPython } from './python-driver.ts'
import { type Peer, type Script, ScriptedServer, welcome } from './scripted-server.ts'

describe('the Python link: what the server asks', () => {
  let server: ScriptedServer
  let app: PythonApp
  let peer: Peer

  before(needPython)

  async function begin(script: Script = {}, options: LinkOptions = {}) {
    ;({ server, app } = await link(script, {}, options))
    await app.untilState('connected')
    peer = await server.peer()
  }

  const read = (id: string, name: string) =>
    peer.send({ type: 'read', id, uri: `thing://${name}`, deadline_ms: 5000 })

  it('answers a refresh when the server has taken the scene that it brought', async () => {
    await begin({}, { refreshes: [false, false, true] })
    peer.answers.delete('scene.set')
    expect((await peer.nth('hello'))['scene_refresh']).to.equal(true)
    peer.send({ type: 'refresh', id: 's1', deadline_ms: 5000 })
    const set = await peer.nth('scene.set')
    expect(set['scene']).to.deep.equal({ refreshed: true })
    read('s2', 'meanwhile')
    await peer.answerTo('s2')
    expect(peer.of('ok').map(({ id }) => id)).to.deep.equal(['s2'])
    peer.ok(set, { revision: 1 })
    await peer.answerTo('s1')
    expect(await app.get('asked')).to.deep.include.members(['refresh', 'refresh', 'refresh'])
  })

  it('answers a refresh with an error while the server lacks the scene', async () => {
    const limits = { ...welcome.limits, max_message_bytes: 10_000 }
    const unsendable = [{ a: '<object>' }, { a: 'x'.repeat(10_000) }]
    await begin({ welcome: { ...welcome, limits } }, { refreshes: [...unsendable, true, true] })
    peer.answers.delete('scene.set')
    const refresh = (id: string) => peer.send({ type: 'refresh', id, deadline_ms: 5000 })
    const error = { type: 'error', code: 'internal', message: 'the server lacks the newest scene' }
    for (const id of ['not JSON', 'too large']) {
      refresh(id)
      expect(await peer.answerTo(id)).to.include(error)
    }
    refresh('refused')
    const { id } = await peer.nth('scene.set')
    peer.send({ type: 'error', id, code: 'invalid', message: 'no scene' })
    expect(await peer.answerTo('refused')).to.include(error)
    expect((await app.call('flush')).result).to.equal(false)
    refresh('taken')
    peer.ok(await peer.nth('scene.set', 2), { revision: 1 })
    expect(await peer.answerTo('taken')).to.include({ type: 'ok' })
    expect((await app.call('flush')).result).to.equal(true)
  })

  it('tells whether the scene is wanted, anew on each connection', async () => {
    await begin({}, { refreshes: [true] })
    expect(await app.get('scene_wanted')).to.equal(true)
    peer.send({ type: 'demand', scene: false })
    await until(async () => (await app.get('scene_wanted')) === false, 'no demand')
    peer.socket.destroy()
    await until(async () => (await app.get('scene_wanted')) === true, 'the next connection')
  })

  const failures = [
    { name: 'missing', code: 'not_found', message: 'there is no missing thing' },
    { name: 'modal', code: 'busy', message: 'a dialog is open' },
    { name: 'broken', code: 'internal', message: 'on_read failed: KeyError' },
    {
      name: 'wrong',
      code: 'internal',
      message: 'on_read returned what cannot be sent: it is not JSON (TypeError)',
    },
    { name: 'size/20000', code: 'limit', message: 'the answer is too large' },
  ]
  it('answers with an error that tells no more than it should', async () => {
    const limits = { ...welcome.limits, max_message_bytes: 10_000 }
    await begin({ welcome: { ...welcome, limits } })
    for (const { name, ...error } of failures) {
      read(name, name)
      expect(await peer.answerTo(name)).to.deep.include({ type: 'error', ...error })
    }
    expect(JSON.stringify(peer.messages)).not.to.contain('a secret of the application')
    expect(app.output).not.to.contain('a secret of the application')
  })

  it('answers what it does not know, and passes over what wants no answer', async () => {
    await begin()
    peer.send({ type: 'of.a.later.version' })
    peer.send({ type: 'of.a.later.version', id: 'x' })
    expect(await peer.answerTo('x')).to.include({ code: 'unknown_type' })
    peer.send({ type: 'ok', id: 'nobody asked' })
    expect(peer.closeCode).to.equal(null)
  })

  it('drops a question that is cancelled', async () => {
    await begin()
    await app.tell({ pumping: false })
    read('s1', 'cancelled')
    peer.send({ type: 'cancel', id: 's1' })
    read('s2', 'asked')
    // Answered by the thread of the link, which has then read all before it.
    peer.send({ type: 'of.a.later.version', id: 's3' })
    await peer.answerTo('s3')
    await app.tell({ pumping: true })
    await peer.answerTo('s2')
    expect(await app.get('asked')).to.deep.equal(['thing://asked'])
    expect(peer.messages.filter(({ id }) => id === 's1')).to.have.length(0)
  })

  it('does not answer a question of a connection that was lost', async () => {
    await begin()
    await app.tell({ pumping: false })
    read('s1', 'old')
    await app.call('status')
    peer.ws.terminate()
    peer = await server.peer(2)
    await app.tell({ pumping: true })
    read('s2', 'new')
    await peer.answerTo('s2')
    expect(peer.messages.filter(({ id }) => id === 's1')).to.have.length(0)
  })

  it('answers a ping', async () => {
    await begin()
    let pong: Buffer | undefined
    peer.ws.once('pong', data => (pong = data))
    peer.ws.ping('between')
    await until(() => String(pong) === 'between', 'the pong')
  })

  it('sends heartbeats while the main thread is blocked, and soon after', async () => {
    // Heartbeats are due only after this test: those that come are the ones out of turn.
    await begin(
      { welcome: { ...welcome, heartbeat_ms: 60_000 } },
      { constants: { 'session.AWAY_SECONDS': 0.5, 'link.AWAY_SECONDS': 0.5 } },
    )
    const blocked = app.tell({ block: true })
    const idle = () => peer.of('heartbeat').at(-1)?.['main_idle_ms']
    await until(() => idle() > 500, 'a heartbeat of a blocked application')
    app.release()
    await blocked
    await until(() => idle() < 500, 'a heartbeat of one that is back')
  })

  it('sends heartbeats as often as it is told, with what keeps it busy or silent at once', async () => {
    await begin({ welcome: { ...welcome, heartbeat_ms: 60_000 } })
    const rare = peer
    await begin({ welcome: { ...welcome, heartbeat_ms: 50 } })
    await peer.nth('heartbeat', 20)
    expect(rare.of('heartbeat')).to.have.length(1)
    await app.call('set_busy', 'rendering')
    const busy = () => peer.of('heartbeat').some(({ busy }) => busy === 'rendering')
    await until(busy, 'a busy heartbeat')
    await app.call('set_busy', null)
    await until(() => peer.of('heartbeat').at(-1)?.['busy'] === undefined, 'it is free again')
    // Returns when the server knows of the silence.
    await app.call('set_busy', 'recomputing', 600)
    const announced = { busy: 'recomputing', silent_ms: 600_000 }
    expect(peer.of('heartbeat').at(-1)).to.deep.include(announced)
  })
})

describe('the Python link: pictures of the application', () => {
  let server: ScriptedServer
  let app: PythonApp
  let peer: Peer

  before(needPython)

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
