import { expect } from 'chai'
import { helloOf, instanceId, LinkClient } from '../../helpers/link.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { expectHealthy } from './link-health.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

describe('messages on the host link of the real program', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    serve = await serveInProcess({
      flags: ['--bound=linkHelloMs=2000', '--limit=maxEventBufferBytes=4096'],
    })
    session = await RawSession.open(serve.url)
    const app = await LinkClient.connect(serve)
    await app.done({ type: 'scene.set', scene: { kept: true } })
    await app.bye()
  })

  after(async () => {
    await expectHealthy(serve)
    await serve.stop()
    expect(serve.output().stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  const expectOldScene = async () =>
    expect(await session.readJson('scene://current')).to.deep.equal({ kept: true })

  it('are kept within the bytes of a buffer, however much it was opened for', async () => {
    const app = await LinkClient.connect(serve)
    const form = { session_id: 'large', maxlen: 10_000, max_message_bytes: 65_536 }
    await app.done({ type: 'events.open', ...form })
    const event = { source: 'blender', stream: 'stdout', message: 'x'.repeat(1000) }
    const events = Array.from({ length: 10 }, () => event)
    const { dropped } = await app.done({ type: 'events.append', session_id: 'large', events })
    expect(dropped).to.equal(7)
    const page = await session.readJson('events://session/large')
    expect(page).to.include({ retained_count: 3, dropped_count: 7 })
    await app.bye()
  })

  /** No message at all. */
  const broken: [string, string][] = [
    ['no JSON', 'hello'],
    ['JSON cut short', '{"type":"scene.set","scene":{'],
    ['nothing', ''],
    ['an array', '[]'],
    ['a text', '"scene.set"'],
    ['null', 'null'],
    ['NaN', '{"type":"scene.set","scene":{"x":NaN}}'],
    ['no type', '{"id":"1"}'],
    ['a type that is a number', '{"type":1}'],
    ['65 levels in the scene', `{"type":"scene.set","scene":${nested(65)}}`],
    ['100,000 levels', nested(100_000)],
  ]

  for (const [title, text] of broken) {
    it(`closes with 4400 after ${title}`, async () => {
      const app = await LinkClient.connect(serve)
      app.say(text)
      const { code, reason } = await app.closed
      expect(code).to.equal(4400)
      expect(reason).to.match(/^a message /)
      await expectOldScene()
    })
  }

  it('closes with 4400 after a binary frame that nobody announced', async () => {
    const app = await LinkClient.connect(serve)
    app.ws.send(Buffer.from('{"type":"bye"}'))
    expect(await app.closed).to.include({ code: 4400 })
  })

  /** Title, message, what the error names. */
  const wrong: [string, object, string][] = [
    ['a scene that is an array', { type: 'scene.set', scene: [] }, '/scene'],
    ['a scene that is a text', { type: 'scene.set', scene: 'x' }, '/scene'],
    ['no scene', { type: 'scene.set' }, '/scene'],
    ['a misspelt member', { type: 'scene.set', scene: {}, scnee: 1 }, '/scnee'],
    ['records that are none', { type: 'audit.record', records: [{}] }, '/records/0/action'],
    ['no records', { type: 'audit.record' }, '/records'],
    [
      '101 records',
      { type: 'audit.record', records: Array(101).fill({ action: 'a' }) },
      '/records',
    ],
    ['a wrong session', { type: 'events.append', session_id: '..', events: [] }, '/session_id'],
    ['a wrong maxlen', { type: 'events.open', session_id: 's', maxlen: 0 }, '/maxlen'],
    ['a document that is a text', { type: 'app.update', document: 'a.blend' }, '/document'],
    ['an unknown mode', { type: 'app.update', mode: 'window' }, '/mode'],
    ['a heartbeat of nothing', { type: 'heartbeat', main_idle_ms: 'x' }, '/main_idle_ms'],
    ['an artefact without size', { type: 'artefact.put', mime: 'a/b' }, '/size'],
    ['one of no type', { type: 'artefact.put', mime: 'x', size: 1 }, '/mime'],
    ['a hello, once more', helloOf(), 'hello'],
  ]

  it('answers wrong members with an error, changes nothing, and goes on', async () => {
    const app = await LinkClient.connect(serve)
    for (const [title, message, named] of wrong) {
      const reply = await app.ask(message)
      expect(reply, title).to.include({ type: 'error', code: 'invalid', retryable: false })
      expect(reply.message, title).to.contain(named)
      await expectOldScene()
    }
    await app.bye()
  })

  it('answers unknown types by id, and passes over those without', async () => {
    const app = await LinkClient.connect(serve)
    app.say({ type: 'run.code', code: 'x' })
    app.say({ type: 'constructor' })
    app.say({ type: 'ok', id: 's99', contents: [] })
    app.say({ type: 'error' })
    const reply = await app.ask({ type: 'run.code', code: 'x' })
    expect(reply).to.include({ type: 'error', code: 'unknown_type', retryable: false })
    expect(await app.ask({ type: '__proto__' })).to.include({ code: 'unknown_type' })
    expect(app.messages).to.have.lengthOf(3)
    await app.bye()
  })

  it('refuses ids that are none, and says so without one', async () => {
    const app = await LinkClient.connect(serve)
    for (const id of [1, '', 'x'.repeat(65), {}]) app.say({ type: 'scene.set', id, scene: {} })
    await app.until(() => app.ofType('error').length === 4, 'four errors')
    for (const error of app.ofType('error')) {
      expect(error).to.include({ code: 'invalid' }).and.not.have.property('id')
      expect(error.message).to.contain('/id')
    }
    await expectOldScene()
    await app.bye()
  })

  /** Title, first message, close code. */
  const first: [string, object | string, number][] = [
    ['something else first', { type: 'scene.set', scene: {} }, 4400],
    ['a hello without an instance', { ...helloOf(), instance_id: undefined }, 4400],
    ['a hello of a wrong kind of application', helloOf({ app: { dcc_type: 'A B' } }), 4400],
    ['no JSON first', '{', 4400],
    ['another version', helloOf({ protocol: [2, 3] }), 4406],
  ]

  for (const [title, message, code] of first) {
    it(`closes with ${code} after ${title}`, async () => {
      const app = await LinkClient.open(serve)
      app.say(message)
      expect(await app.closed).to.include({ code })
      expect(app.messages).to.deep.equal([])
      await expectOldScene()
    })
  }

  it('closes with 4400 after a binary frame first', async () => {
    const app = await LinkClient.open(serve)
    app.ws.send(Buffer.from(JSON.stringify(helloOf())))
    expect(await app.closed).to.include({ code: 4400 })
  })

  it('closes with 4408 when no hello comes', async () => {
    const app = await LinkClient.open(serve)
    expect(await app.closed).to.include({ code: 4408 })
  })

  it('takes what a newer application says in hello and heartbeat', async () => {
    const app = await LinkClient.connect(serve, { colour: 'red', protocol: [1, 2] })
    expect(app.welcome).to.deep.include({ protocol: 1, heartbeat_ms: 5000 })
    await app.done({ type: 'heartbeat', main_idle_ms: 1, mood: 'good', dropped: { audit: 1 } })
    await app.bye()
  })
})

describe('the one place on the host link', () => {
  let serve: RunningServe

  before(async () => {
    serve = await serveInProcess()
  })

  after(async () => {
    await expectHealthy(serve)
    await serve.stop()
  })

  it('is kept against a second application, with 4423', async () => {
    const app = await LinkClient.connect(serve)
    for (let number = 0; number < 3; number++) {
      const second = await LinkClient.open(serve)
      second.say(helloOf({ instance_id: 'another' }))
      expect(await second.closed).to.include({ code: 4423 })
      const told = { type: 'error', code: 'host_taken', retryable: true }
      expect(second.messages).to.have.lengthOf(1)
      expect(second.messages[0]).to.include(told)
      expect(second.messages[0].message).to.contain('blender 3.4.1, process 4711')
    }
    await app.done({ type: 'scene.set', scene: { first: true } })
    await app.bye()
    const second = await LinkClient.connect(serve, { instance_id: 'another' })
    await second.bye()
  })

  it('goes to a newer link of the same run, the older one closed with 4409', async () => {
    const links = [await LinkClient.connect(serve)]
    for (let number = 0; number < 5; number++) {
      const newer = await LinkClient.connect(serve, { instance_id: instanceId })
      expect(await links.at(-1)?.closed).to.include({ code: 4409 })
      links.push(newer)
    }
    const last = links.at(-1) as LinkClient
    const { revision } = await last.done({ type: 'scene.set', scene: { last: true } })
    expect(revision).to.be.above(0)
    await last.bye()
  })
})
