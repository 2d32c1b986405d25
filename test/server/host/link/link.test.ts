import { expect } from 'chai'
import { until } from '../../../helpers/until.ts'
import { LinkServer, type Message, hello } from '../harness.ts'

const text = (message: Message) => JSON.stringify(message)
const without = (name: string) => text({ ...hello(), [name]: undefined })

describe('the first message of a link', () => {
  let server: LinkServer
  before(async () => (server = await LinkServer.start()))

  const noHello = 'the first message must be a hello'
  const wrong: [what: string, first: string | Buffer, code: number, reason: string][] = [
    ['no JSON', '{', 4400, 'a message is not valid JSON: unexpected end'],
    ['no type', '{}', 4400, 'a message has no type'],
    ['another message', '{"type":"heartbeat","main_idle_ms":1}', 4400, noHello],
    ['another message, wrong itself', '{"type":"heartbeat"}', 4400, noHello],
    ['an answer', '{"type":"ok","id":"s1"}', 4400, noHello],
    ['a binary frame', Buffer.from(text(hello())), 4400, noHello],
    ['no application', without('app'), 4400, '/app is required'],
  ]
  it('closes the link when it is no hello', async () => {
    for (const [what, first, code, reason] of wrong) {
      const peer = await server.open()
      peer.say(first)
      peer.say(hello())
      const closed = await peer.closed
      expect(closed.code, what).to.equal(code)
      expect(closed.reason, what).to.contain(reason)
      expect(peer.messages, what).to.deep.equal([])
    }
    expect(server.presences).to.deep.equal([])
  })

  it('may say more, once', async () => {
    const document = { path: '/a.blend', frames: 250 }
    const peer = await server.join('run-1', { more: { x: 1 }, document })
    expect(peer.welcome.type).to.equal('welcome')
    expect(server.presence?.document).to.deep.equal({ path: '/a.blend' })
    const answer = await peer.ask(hello())
    expect(answer).to.include({ type: 'error', code: 'invalid' })
    await peer.settled()
  })
})

describe('the welcome of a link', () => {
  let server: LinkServer
  beforeEach(async () => (server = await LinkServer.start()))

  it('asks for a scene where there is none, or the one of another application', async () => {
    const needs: unknown[] = []
    for (const instance of ['a', 'a', 'b', 'b', 'a']) {
      const peer = await server.join(instance, { scene_refresh: true })
      needs.push(peer.welcome['need_scene'])
      await peer.ask({ type: 'scene.set', scene: { of: instance } })
      peer.say({ type: 'bye' })
      await peer.closed
    }
    expect(needs).to.deep.equal([true, false, true, false, true])
  })

  it('asks for the scene where another source has replaced it meanwhile', async () => {
    const peer = await server.join('a')
    await peer.ask({ type: 'scene.set', scene: { of: 'a' } })
    peer.ws.terminate()
    await until(() => server.presence?.connected === false)
    server.scene.setText('{"of":"a post"}')
    const { welcome } = await server.join('a', { scene_refresh: true })
    expect(welcome['need_scene']).to.equal(true)
  })
})

describe('the place of the application', () => {
  let server: LinkServer
  beforeEach(async () => (server = await LinkServer.start()))

  it('is taken over by a newer link of the same instance', async () => {
    const older = await server.join('run-1')
    const newer = await server.join('run-1')
    expect((await older.closed).code).to.equal(4409)
    await newer.settled()
    expect(server.presence).to.have.property('connected', true)
  })

  it('is refused to another instance, which may have it later', async () => {
    const first = await server.join('run-1')
    const second = await server.open()
    second.say(hello('run-2'))
    expect(await second.closed).to.deep.equal({
      code: 4423,
      reason: 'another application is connected: blender 3.4.1, process 4711',
    })
    expect(second.messages).to.deep.equal([])
    await first.settled()
    first.ws.terminate()
    await until(() => server.presence?.connected === false)
    expect((await server.join('run-2')).welcome.type).to.equal('welcome')
  })

  it('is left with bye, and what was said before it holds', async () => {
    const peer = await server.join()
    peer.say({ type: 'scene.set', scene: { a: 1 } })
    peer.say({ type: 'bye', id: '9', reason: 'quit' })
    peer.say({ type: 'scene.set', scene: { a: 2 } })
    expect((await peer.closed).code).to.equal(1000)
    expect(peer.messages.at(-1)).to.deep.equal({ type: 'ok', id: '9' })
    expect(server.scenes).to.deep.equal([{ a: 1 }])
    expect(server.presence).to.have.property('connected', false)
    expect((await server.join('run-1')).welcome.type).to.equal('welcome')
  })

  it('keeps the scene after bye, and removes what was shared after bye with clear', async () => {
    const shared = async (clear: boolean) => {
      const peer = await server.join('run-1', { document: { name: 'a.blend' } })
      await peer.ask({ type: 'scene.set', scene: { a: 1 } })
      await peer.ask({ type: 'events.open', session_id: 'console' })
      const bye = { type: 'bye', clear, reason: 'the user left' }
      expect(await peer.ask(bye)).to.deep.equal({ type: 'ok' })
      await peer.closed
      const document = server.presence?.document
      return { scene: server.scene.text !== null, buffers: await server.buffers(), document }
    }
    const everything = { scene: true, buffers: ['console'] }
    expect(await shared(false)).to.deep.equal({ ...everything, document: { name: 'a.blend' } })
    expect(await shared(true)).to.deep.equal({ scene: false, buffers: [], document: null })
    expect(server.scene.current.removalReason).to.equal('the user left')
    const peer = await server.join()
    server.scene.setText('{"posted":true}')
    await peer.ask({ type: 'bye', clear: true })
    expect(server.scene.text, 'of another source').to.equal('{"posted":true}')
  })

  it('tells of the application as it changes, and nothing twice', async () => {
    const peer = await server.join('run-1', { document: { path: '/a.blend' } })
    expect(server.presence).to.deep.equal({
      connected: true,
      app: { dcc_type: 'blender', mode: 'gui', version: '3.4.1', pid: 4711 },
      document: { path: '/a.blend' },
      busy: false,
      pictures: { targets: [], shots: undefined, denied: false },
    })
    const changes: [message: Message, presence: object][] = [
      [{ type: 'app.update', document: { name: 'b' } }, { document: { name: 'b' } }],
      [{ type: 'app.update', mode: 'background' }, { document: { name: 'b' } }],
      [{ type: 'heartbeat', main_idle_ms: 2001 }, { busy: true }],
      [{ type: 'heartbeat', main_idle_ms: 2000 }, { busy: false }],
    ]
    for (const [message, presence] of changes) {
      expect(await peer.ask(message)).to.deep.equal({ type: 'ok' })
      expect(server.presence).to.deep.include(presence)
    }
    expect(server.presence?.app?.mode).to.equal('background')
    const told = server.presences.length
    await peer.ask({ type: 'heartbeat', main_idle_ms: 1000 })
    expect(server.presences.length).to.equal(told)
  })
})
