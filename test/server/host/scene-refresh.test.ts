import { expect } from 'chai'
import { LinkClient } from '../../helpers/link.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const uri = 'scene://current'

describe('a scene that is asked for when somebody reads it', () => {
  let serve: RunningServe
  let session: RawSession
  let app: LinkClient
  let frame: number

  before(async () => {
    serve = await serveInProcess()
    session = await RawSession.open(serve.url)
  })

  const connect = async (members: object = { scene_refresh: true }, isShown = true) => {
    app = await LinkClient.connect(serve, { instance_id: `run-${Math.random()}`, ...members })
    if (isShown) await app.done({ type: 'scene.set', scene: { frame: (frame = 0) } })
  }

  const show = () => app.done({ type: 'scene.set', scene: { frame: ++frame } })
  const asked = () => app.ofType('refresh').length
  const read = async () => {
    const { result } = await session.call('resources/read', { uri })
    const [{ text, _meta }] = result.contents
    return { frame: JSON.parse(text).frame, ..._meta['service-cli/scene'].application }
  }
  const demands = () => app.ofType('demand').map(({ scene }) => scene)

  it('is what the application sends then, for many who read', async () => {
    await connect()
    app.answer = async ({ type }) => {
      if (type !== 'refresh') return undefined
      app.say({ type: 'scene.set', scene: { frame: ++frame } })
      return {}
    }
    expect((await read()).frame).to.equal(1)
    const answers = await Promise.all(Array.from({ length: 20 }, () => read()))
    for (const answer of answers) {
      expect(answer.frame).to.be.greaterThan(1)
      expect(answer).not.to.have.property('as_of')
    }
  })

  it('says of when it is while the application does not answer, until it does again', async () => {
    await connect()
    const answer = await read()
    expect(answer).to.include({ frame: 0, connected: true })
    expect(answer.as_of).to.be.a('string')
    const { result } = await session.call('tools/call', { name: 'scene_changes', arguments: {} })
    expect(result.content[0].text).to.contain(
      `the application has not confirmed its scene since ${answer.as_of}; later changes may be missing`,
    )
    app.answer = () => ({})
    expect(await read()).not.to.have.property('as_of')
  })

  it('is not asked for while the application says that it is busy', async () => {
    await connect()
    app.say({ type: 'heartbeat', main_idle_ms: 0, busy: 'rendering' })
    expect((await read()).as_of).to.be.a('string')
    expect(asked()).to.equal(0)
  })

  it('is never asked of an application that did not say that it answers', async () => {
    await connect({})
    await session.call('resources/subscribe', { uri })
    await session.call('resources/unsubscribe', { uri })
    expect(await read()).not.to.have.property('as_of')
    expect(app.messages.map(({ type }) => type)).not.to.include.members(['refresh'])
    expect(demands()).to.deep.equal([])
  })

  it('is in doubt from a reconnect or a refusal until the next scene', async () => {
    const run = { instance_id: 'never-asked' }
    const isInDoubt = async () => (await read()).as_of !== undefined
    await connect(run)
    expect(await isInDoubt()).to.equal(false)
    app.cut()
    await connect(run, false)
    expect(app.welcome.need_scene).to.equal(true)
    const answer = await read()
    expect(answer).to.include({ frame: 0, connected: true })
    expect(answer.as_of).to.be.a('string')
    await show()
    expect(await isInDoubt()).to.equal(false)
    const outcomes = ['invalid', 'stale']
    const refused = { type: 'scene.patch', base: 1, members: { frame: 9 } }
    const messages = [{ type: 'scene.set', scene: 'none' }, refused]
    for (const [at, message] of messages.entries()) {
      const { code } = await app.ask(message)
      expect(code).to.equal(outcomes[at])
      expect(await isInDoubt(), code).to.equal(true)
      await show()
      expect(await isInDoubt(), code).to.equal(false)
    }
  })

  it('may come seldom while nobody follows it, and the application is told when that ends', async () => {
    await connect()
    const told = (...all: boolean[]) => app.until(() => demands().length >= all.length, 'a demand')
    await told(false)
    await session.call('resources/subscribe', { uri })
    await session.call('resources/subscribe', { uri: 'scene://delta' })
    await session.call('resources/unsubscribe', { uri })
    await session.call('resources/unsubscribe', { uri: 'scene://delta' })
    await told(false, true, false)
    const waiting = session.call('tools/call', { name: 'wait_for_change', arguments: {} })
    await told(false, true, false, true)
    await show()
    expect((await waiting).result.content[0].text).to.match(/^changed: /)
    await told(false, true, false, true, false)
    expect(demands()).to.deep.equal([false, true, false, true, false])
  })

  it('is followed, too, by who subscribes to the resources of the application', async () => {
    await connect()
    await app.done({ type: 'producer.register', scheme: 'app', resources: [] })
    await session.call('resources/subscribe', { uri: 'app://Cube' })
    await app.until(() => demands().length === 2, 'the demand')
    await session.call('resources/unsubscribe', { uri: 'app://Cube' })
    await app.until(() => demands().length === 3, 'the end of the demand')
    await session.call('resources/subscribe', { uri: 'audit://recent' })
    await show()
    expect(demands()).to.deep.equal([false, true, false])
  })
})
