import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { newFolder } from '../helpers/cleanup.ts'
import { until } from '../helpers/until.ts'
import { type LinkOptions, type PythonApp, link, needPython } from './python-driver.ts'
import { type Peer, type Script, ScriptedServer, token, welcome } from './scripted-server.ts'

describe('the Python link: what the application tells', () => {
  let server: ScriptedServer
  let app: PythonApp

  before(needPython)

  async function begin(script: Script = {}, args: object = {}, options: LinkOptions = {}) {
    ;({ server, app } = await link(script, args, options))
  }

  it('opens with the sub-protocol, the token and a hello, and shows as connected', async () => {
    const args = { app_version: '1.2', display_name: 'Work\nshop', mode: 'background' }
    await begin({}, args, { start: false })
    await app.named('set_document', { path: '/a/b.blend', modified: true })
    await app.call('start')
    const peer = await server.peer()
    const { headers, url } = peer.request
    expect(url).to.equal('/host')
    expect(headers).to.include({
      host: new URL(server.url).host,
      authorization: `Bearer ${token}`,
      'sec-websocket-protocol': 'dcc-host.v1',
    })
    expect(headers).not.to.have.any.keys('origin', 'sec-websocket-extensions')
    const { app: said, document, instance_id: id } = await peer.nth('hello')
    expect(id).to.match(/^[0-9a-f]{32}$/)
    expect(document).to.deep.equal({ path: '/a/b.blend', modified: true })
    expect(said).to.deep.equal({
      dcc_type: 'workshop',
      version: '1.2',
      display_name: 'Work shop',
      mode: 'background',
      pid: app.child.pid,
    })
    const { text, url: shown } = await app.untilState('connected')
    expect(text).to.equal(`Connected to service-cli 0.1.0 at ${server.url}.`)
    expect(shown).to.equal(server.url)
  })

  it('sends one scene at a time, and the newest of those that came meanwhile', async () => {
    await begin({ connected: peer => peer.answers.delete('scene.set') })
    for (let frame = 1; frame <= 5; frame++) {
      await app.call('set_scene', { frame })
      if (frame === 1) await (await server.peer()).nth('scene.set')
    }
    const peer = await server.peer()
    expect(await app.get('scene_settled')).to.equal(false)
    peer.ok(await peer.nth('scene.set'), { revision: 1 })
    peer.ok(await peer.nth('scene.set', 2), { revision: 2 })
    await until(() => app.get('scene_settled'), 'scene settled')
    expect(peer.of('scene.set').map(({ scene }) => scene)).to.deep.equal([
      { frame: 1 },
      { frame: 5 },
    ])
    await app.call('set_scene', null)
    expect(await peer.nth('scene.set', 3)).to.include({ scene: null })
  })

  it('sends the scene again only to a server that has none or not the newest', async () => {
    await begin()
    await app.call('set_scene', { frame: 1 })
    const first = await server.peer()
    await first.nth('scene.set')
    await until(() => app.get('scene_settled'), 'scene settled')
    first.ws.terminate()
    const second = await server.peer(2)
    await second.nth('heartbeat')
    await delay(100)
    expect(second.of('scene.set')).to.have.length(0)
    server.script = { welcome: { ...welcome, need_scene: true } }
    second.ws.terminate()
    const third = await server.peer(3)
    expect(await third.nth('scene.set')).to.deep.include({ scene: { frame: 1 } })
    server.script = { connected: peer => peer.answers.delete('scene.set') }
    third.ws.terminate()
    const fourth = await server.peer(4)
    await app.call('set_scene', { frame: 2 })
    await fourth.nth('scene.set')
    fourth.ws.terminate()
    const fifth = await server.peer(5)
    expect(await fifth.nth('scene.set')).to.deep.include({ scene: { frame: 2 } })
  })

  it('sends what JSON and UTF-8 have not with a warning, and not what is no JSON or too large', async () => {
    const limits = { ...welcome.limits, max_message_bytes: 10_000 }
    await begin({ welcome: { ...welcome, limits } })
    await app.untilState('connected')
    const peer = await server.peer()
    // 1e999 is Infinity for Python, as NaN would be; \\udcff is a byte of a name that is not UTF-8.
    const scene = '{"a":[1e999,1],"objects":[{"id":"Caf\\udcff \\ud83d\\ude00","x":-1e999}]}'
    app.child.stdin?.write(`{"id":99,"call":"set_scene","args":[${scene}]}\n`)
    expect((await peer.nth('scene.set')).scene).to.deep.equal({
      a: [null, 1],
      objects: [{ id: 'Caf\ufffd 😀', x: null }],
      warnings: [
        { code: 'number_not_finite', count: 2 },
        { code: 'text_not_utf8', count: 1 },
      ],
    })
    await app.named('set_document', { path: '/a/\udcff.blend' })
    expect((await peer.nth('app.update'))['document']).to.deep.equal({ path: '/a/\ufffd.blend' })
    await app.call('set_scene', { a: '<object>' })
    await app.untilError('the scene was not sent: it is not JSON (TypeError)')
    await app.call('set_scene', { a: 'x'.repeat(10_000) })
    await app.untilError('the server takes 10000')
    await app.call('set_scene', { a: 'fine' })
    expect((await peer.nth('scene.set', 2)).scene).to.deep.equal({ a: 'fine' })
    expect((await app.status()).lastError).to.equal(null)
  })

  it('keeps the newest 1000 records without a server', async () => {
    await begin({}, {}, { start: false })
    const many = { call: 'many', method: 'record', times: 1100, kwargs: { action: 'step {n}' } }
    await app.tell(many)
    await app.call('start')
    const peer = await server.peer()
    const batches = () => peer.of('audit.record')
    const count = () => batches().flatMap(({ records }) => records).length
    await until(() => count() === 1000, '1000 records')
    const actions = batches().flatMap(({ records }) => records.map((one: any) => one.action))
    expect(actions).to.deep.equal(Array.from({ length: 1000 }, (_, i) => `step ${i + 100}`))
    expect(Math.max(...batches().map(({ records }) => records.length))).to.equal(100)
  })

  it('waits with a flush for the answers to messages and jobs', async () => {
    await begin()
    const peer = await server.peer()
    await app.untilState('connected')
    peer.answers.delete('producer.register')
    const parts = {
      'producer.register': 'register',
      'checkpoint.add': 'add_checkpoint',
      'note.add': 'add_note',
    }
    for (const [type, method] of Object.entries(parts)) {
      await app.call(method, 'thing')
      const message = await peer.nth(type)
      expect((await app.call('flush', 0.1)).result, type).to.equal(false)
      peer.ok(message)
      expect((await app.call('flush', 10)).result, type).to.equal(true)
    }
  })

  it('sends a batch again whose answer was lost with the connection', async () => {
    await begin({ connected: peer => peer.answers.delete('audit.record') })
    await app.call('record', 'file.save')
    const first = await server.peer()
    await first.nth('audit.record')
    server.script = {}
    first.ws.terminate()
    const second = await server.peer(2)
    const { records } = await second.nth('audit.record')
    expect(records[0]).to.include({ action: 'file.save', outcome: 'success' })
    expect(await app.call('flush', 2)).to.include({ result: true })
  })

  it('sends records again that the server cannot take now, in order', async () => {
    const constants = { 'session.RETRY_SECONDS': 0.3 }
    await begin({ connected: peer => peer.answers.delete('audit.record') }, {}, { constants })
    const peer = await server.peer()
    await app.call('record', 'first')
    const refused = await peer.nth('audit.record')
    await app.call('record', 'second')
    const message = 'the disk is full'
    peer.send({ type: 'error', id: refused.id, code: 'limit', message })
    await app.untilError(message)
    expect((await app.call('flush', 0.1)).result).to.equal(false)
    const again = await peer.nth('audit.record', 2)
    expect(again['records'].map((one: any) => one.action)).to.deep.equal(['first', 'second'])
    peer.ok(again)
    expect((await app.call('flush', 10)).result).to.equal(true)
  })

  it('tells of a record that the server finds wrong, and loses none of the others', async () => {
    await begin({ connected: peer => peer.answers.delete('audit.record') })
    const peer = await server.peer()
    await app.call('record', 'first')
    const first = await peer.nth('audit.record')
    for (const action of ['good', 'odd', 'fine']) await app.call('record', action)
    peer.ok(first)
    const message = '/records/1/action must be nicer'
    const told = async (n: number) => {
      const { id, records } = await peer.nth('audit.record', n)
      const actions = records.map((one: any) => one.action)
      if (actions.includes('odd')) peer.send({ type: 'error', id, code: 'invalid', message })
      else peer.send({ type: 'ok', id })
      return actions
    }
    expect(await told(2)).to.deep.equal(['good', 'odd', 'fine'])
    for (const [at, action] of ['good', 'odd', 'fine'].entries()) {
      expect(await told(3 + at)).to.deep.equal([action])
    }
    await app.untilError(message)
    expect((await app.call('flush', 10)).result).to.equal(true)
  })

  it('keeps each session of events in order, and opens it first, on each connection', async () => {
    await begin({}, {}, { start: false })
    await app.named('open_events', { session_id: 'a', maxlen: 7 })
    for (const session_id of ['a', 'a', 'b', 'b']) {
      await app.named('log', { message: `to ${session_id}`, session_id, source: 'test' })
    }
    await app.call('start')
    const peer = await server.peer()
    await peer.nth('events.append', 2)
    const told = peer.messages.filter(({ type, session_id: of }) => of === 'a' && type !== 'ok')
    const kinds = told.map(({ type }) => type)
    expect(kinds.indexOf('events.append')).to.be.greaterThan(kinds.indexOf('events.open'))
    expect(told[0]).to.deep.include({ type: 'events.open', maxlen: 7 })
    const events = peer.of('events.append').map(({ session_id: of, events }) => [of, events.length])
    expect(events).to.deep.equal([
      ['a', 2],
      ['b', 2],
    ])
    peer.ws.terminate()
    expect(await (await server.peer(2)).nth('events.open')).to.include({ maxlen: 7 })
  })

  it('tells documents and producers as they change, and again after a reconnect', async () => {
    await begin()
    const first = await server.peer()
    await app.untilState('connected')
    await app.named('set_document', { name: 'b', modified: false })
    expect(await first.nth('app.update')).to.deep.include({
      document: { name: 'b', modified: false },
    })
    await app.call('register', 'thing', [{ uri: 'thing://1', name: '1' }])
    await first.nth('producer.register')
    await app.call('register', 'thing', [{ uri: 'thing://2', name: '2' }])
    await app.call('updated', 'thing://2')
    expect(await first.nth('resource.updated')).to.include({ uri: 'thing://2' })
    await first.nth('producer.register', 2)
    first.ws.terminate()
    const second = await server.peer(2)
    expect((await second.nth('hello')).document).to.deep.equal({ name: 'b', modified: false })
    const again = await second.nth('producer.register')
    expect(again['resources']).to.deep.equal([{ uri: 'thing://2', name: '2' }])
  })

  it('tells where a document was saved from, also after it changed and after a reconnect', async () => {
    await begin()
    const first = await server.peer()
    await app.untilState('connected')
    await app.named('set_document', { path: '/b.blend', saved_from: '/a.blend' })
    await app.named('set_document', { path: '/b.blend', modified: true })
    const document = { path: '/b.blend', modified: true, saved_from: '/a.blend' }
    const isTold = () =>
      first.of('app.update').some(each => (each['document'] as any)?.modified === true)
    await until(isTold, 'the change')
    expect(first.of('app.update').at(-1)).to.deep.include({ document })
    first.ws.terminate()
    expect((await (await server.peer(2)).nth('hello')).document).to.deep.equal(document)
    await app.named('set_document', { path: '/c.blend' })
    expect((await (await server.peer(2)).nth('app.update')).document).to.deep.equal({
      path: '/c.blend',
    })
  })

  it('sends artefacts in frames, files too, and tells on the main thread how it went', async () => {
    await begin()
    const folder = newFolder()
    const path = join(folder, 'still.png')
    await writeFile(path, Buffer.alloc(700_000, 'p'))
    const peer = await server.peer()
    await app.named('put_artefact', { path, mime: 'image/png', metadata: { frame: 1 } })
    const put = await peer.nth('artefact.put')
    expect(put).to.deep.include({
      mime: 'image/png',
      size: 700_000,
      display_name: 'still.png',
      metadata: { frame: 1 },
    })
    await until(() => Buffer.concat(peer.binary).length === 700_000, 'all bytes')
    expect(peer.binary.map(({ length }) => length)).to.deep.equal([262_144, 262_144, 175_712])
    peer.ok(put, { uri: 'artefact://sha256/x', sha256: 'x', existed: false })
    await until(async () => (await app.get('uploads'))[0].done, 'upload done')
    await until(async () => (await app.get('asked'))[0] === 'on_done MainThread', 'on_done')

    await app.named('put_artefact', { path: join(folder, 'none') })
    await until(async () => (await app.get('uploads'))[1].done, 'upload refused')
    expect((await app.get('uploads'))[1].error).to.equal(
      'the file cannot be read (No such file or directory)',
    )
  })

  it('starts an artefact anew on the next connection, and gives up one that is refused', async () => {
    await begin()
    const first = await server.peer()
    await app.named('put_artefact', { data_size: 100, mime: 'text/plain' })
    await first.nth('artefact.put')
    first.ws.terminate()
    const second = await server.peer(2)
    const { id } = await second.nth('artefact.put')
    await until(() => second.binary.length === 1, 'its bytes')
    expect(second.binary[0]?.subarray(0, 3)).to.deep.equal(Buffer.from([0, 1, 2]))
    second.send({ type: 'error', id, code: 'limit', message: 'no room' })
    await until(async () => (await app.get('uploads'))[0].done, 'upload done')
    expect((await app.get('uploads'))[0].error).to.equal('no room (limit)')
  })
})

const object = (id: string) => JSON.stringify({ id, note: 'x'.repeat(1000) })
const objects = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map(id => [id, object(id)]))
const sceneOf = (members: object) => ({
  ...members,
  objects: Object.values(objects).map(text => JSON.parse(text)),
})

describe('the Python link: scenes that change', () => {
  let server: ScriptedServer
  let app: PythonApp
  let peer: Peer

  before(needPython)

  /** Up to the first scene, which the server took as revision 7. */
  async function begin(script: Script = {}): Promise<void> {
    const connected = (each: Peer) => each.answers.delete('scene.set')
    ;({ server, app } = await link({ connected, ...script }))
    peer = await server.peer()
    await app.call('patch_scene', { frame: 1, mode: 'pose' }, objects, true)
    await taken(await peer.nth('scene.set'), 7)
  }

  async function taken(message: { type: string }, revision: number): Promise<void> {
    peer.ok(message, { revision })
    await until(() => app.get('scene_settled'), 'scene settled')
  }

  it('refuses to patch a scene that came whole, by set_scene', async () => {
    await begin()
    await app.call('set_scene', { objects: [{ id: 'a' }] })
    const refused = await app.call('patch_scene', {}, { a: null }).catch(String)
    expect(refused).to.contain('the scene came by set_scene()')
  })

  it('sends what an application says has changed, in one patch what came meanwhile', async () => {
    await begin()
    expect((await peer.nth('scene.set')).scene).to.deep.equal(sceneOf({ frame: 1, mode: 'pose' }))
    await app.call('patch_scene', { frame: 2 }, { a: '{"id":"a"}' })
    const first = await peer.nth('scene.patch')
    expect(first).to.deep.include({ base: 7, objects: [{ id: 'a' }], members: { frame: 2 } })
    await app.call('patch_scene', { frame: 3 }, { a: null })
    await app.call('patch_scene', { mode: null }, { f: '{"id":"f"}' })
    peer.ok(first, { revision: 9 })
    const { type: _, id: __, ...patch } = await peer.nth('scene.patch', 2)
    expect(patch).to.deep.equal({
      base: 9,
      objects: [{ id: 'f' }],
      removed: ['a'],
      members: { frame: 3 },
      unset: ['mode'],
    })
  })

  it('sends the whole scene when the server has another one', async () => {
    await begin()
    await app.call('patch_scene', { frame: 2 }, {})
    const { id } = await peer.nth('scene.patch')
    peer.send({ type: 'error', id, code: 'stale', message: 'another scene' })
    const whole = await peer.nth('scene.set', 2)
    expect(whole['scene']).to.deep.equal(sceneOf({ frame: 2, mode: 'pose' }))
    await taken(whole, 20)
    await app.call('patch_scene', { frame: 3 }, {})
    expect(await peer.nth('scene.patch', 2)).to.include({ base: 20 })
  })

  it('sends whole scenes while there are more objects than the server patches', async () => {
    await begin({ welcome: { ...welcome, limits: { ...welcome.limits, max_patched_objects: 1 } } })
    await app.call('patch_scene', { frame: 2 }, {})
    expect((await peer.nth('scene.set', 2)).scene).to.include({ frame: 2 })
  })

  it('asks for the whole scene when a patch may have closed the link', async () => {
    await begin()
    await app.call('patch_scene', { frame: 2 }, {})
    await peer.nth('scene.patch')
    peer.ws.close(4400)
    peer = await server.peer(2)
    await until(() => app.get('need_scene'), 'need_scene')
    await app.call('patch_scene', { frame: 3 }, {}, true)
    expect((await peer.nth('scene.set')).scene).to.deep.equal({ frame: 3, objects: [] })
    expect(await app.get('need_scene')).to.equal(false)
  })
})
