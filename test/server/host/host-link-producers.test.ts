import { expect } from 'chai'
import { LinkClient } from '../../helpers/link.ts'
import { type Events, RawSession } from '../../helpers/mcp.ts'
import { expectHealthy, failureOf } from './link-health.ts'
import { until } from '../../helpers/until.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const listChanged = 'notifications/resources/list_changed'
/** Long enough for what has to happen within them on a machine at work. */
const graceMs = 1500
const listMs = 4000

describe('schemes of an application over the host link', () => {
  let serve: RunningServe
  let session: RawSession
  let events: Events
  let app: LinkClient

  before(async () => {
    const limits = [
      'listChangedIntervalMs=20',
      `linkGraceMs=${graceMs}`,
      `linkListMs=${listMs}`,
      'linkReadMs=500',
    ]
    serve = await serveInProcess({ flags: limits.map(limit => `--bound=${limit}`) })
  })

  beforeEach(async () => {
    session = await RawSession.open(serve.url)
    events = await session.listen()
    app = await LinkClient.connect(serve)
  })

  afterEach(async () => {
    events.close()
    await session.delete()
    if (app.ws.readyState === app.ws.OPEN) await app.bye()
    await expectHealthy(serve)
  })

  after(async () => {
    await serve.stop()
    expect(serve.output().stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  const changes = () => events.messages.filter(({ method }) => method === listChanged).length

  const listed = async (): Promise<string[]> => {
    const { result } = await session.call('resources/list')
    return result.resources
      .map(({ uri }: any) => uri)
      .filter((uri: string) => uri.startsWith('app'))
  }

  const descriptors = (...names: string[]) => names.map(name => ({ uri: `app://${name}`, name }))

  const register = (...names: string[]) =>
    app.done({ type: 'producer.register', scheme: 'app', resources: descriptors(...names) })

  /** Waits for a change of the listing that what `act` does announces. */
  async function expectChange(act: () => Promise<unknown>): Promise<void> {
    const sofar = changes()
    await act()
    await events.until(() => changes() > sofar, 'list_changed')
  }

  it('come and go, and every client hears of it', async () => {
    expect(await listed()).to.deep.equal([])
    await expectChange(() => register('Cube', 'Light'))
    expect(await listed()).to.deep.equal(['app://Cube', 'app://Light'])
    await expectChange(() =>
      app.done({
        type: 'producer.list_changed',
        scheme: 'app',
        resources: descriptors('Light', 'Suzanne'),
      }),
    )
    expect(await listed()).to.deep.equal(['app://Light', 'app://Suzanne'])
    await expectChange(() => app.done({ type: 'producer.unregister', scheme: 'app' }))
    expect(await listed()).to.deep.equal([])
    expect(await failureOf(session, 'app://Cube')).to.equal(-32002)
  })

  it('are asked for their list, which nobody waits for', async () => {
    await expectChange(() => register('Cube'))
    const asked = Promise.withResolvers<void>()
    app.answer = async ({ type }) => {
      if (type !== 'list') return undefined
      await asked.promise
      return { resources: descriptors('Plane') }
    }
    await app.done({ type: 'producer.list_changed', scheme: 'app' })
    await app.until(() => app.ofType('list').length > 0, 'the question')
    expect(app.ofType('list')[0]).to.include({ scheme: 'app', deadline_ms: listMs })
    expect(await listed()).to.deep.equal(['app://Cube'])
    await expectChange(async () => asked.resolve())
    expect(await listed()).to.deep.equal(['app://Plane'])
  })

  it('keep their list when the application hangs or answers nonsense', async () => {
    await expectChange(() => register('Cube'))
    await app.done({ type: 'producer.list_changed', scheme: 'app' })
    expect(await failureOf(session, 'app://Cube')).to.equal('host_timeout')
    expect(await listed()).to.deep.equal(['app://Cube'])
    await app.until(() => app.ofType('list').length > 0, 'the question')
    const { id: question } = app.ofType('list')[0]
    await app.until(() => app.ofType('cancel').some(({ id }) => id === question), 'its end')
    expect(await listed()).to.deep.equal(['app://Cube'])
    for (const resources of [undefined, 'x', [{ uri: 'scene://current', name: 'x' }], [{}]]) {
      app.answer = () => ({ resources })
      const sofar = app.ofType('list').length
      await app.done({ type: 'producer.list_changed', scheme: 'app' })
      await app.until(() => app.ofType('list').length > sofar, 'the question')
      await app.done({ type: 'heartbeat', main_idle_ms: 0 })
      expect(await listed()).to.deep.equal(['app://Cube'])
    }
  })

  it('tell those who subscribed to a resource, and nobody else', async () => {
    await register('Cube', 'Light')
    await session.call('resources/subscribe', { uri: 'app://Cube' })
    await app.done({ type: 'resource.updated', uri: 'app://Light' })
    await app.done({ type: 'resource.updated', uri: 'app://Cube' })
    await events.until(() => events.updates.length > 0, 'the update')
    await app.done({ type: 'scene.set', scene: {} })
    expect(events.updates).to.deep.equal(['app://Cube'])
    const foreign = await app.ask({ type: 'resource.updated', uri: 'scene://current' })
    expect(foreign).to.include({ type: 'error', code: 'not_found' })
  })

  it('stay listed for the grace time after the link is lost, then go', async () => {
    await expectChange(() => register('Cube'))
    const seen = new Set<unknown>()
    await expectChange(async () => {
      app.cut()
      await until(async () => {
        const failure = await failureOf(session, 'app://Cube')
        seen.add(failure)
        return failure === -32002
      }, 'the scheme is gone')
    })
    expect([...seen]).to.deep.equal(['host_disconnected', -32002])
    expect(await listed()).to.deep.equal([])
  })

  it('stay when their application comes back in time', async () => {
    await expectChange(() => register('Cube'))
    app.cut()
    app = await LinkClient.connect(serve)
    app.answer = ({ uri }) => ({ contents: [{ uri, text: 'back' }] })
    await register('Cube')
    expect(await listed()).to.deep.equal(['app://Cube'])
    expect(await failureOf(session, 'app://Cube')).to.equal(null)
    await new Promise(resolve => setTimeout(resolve, graceMs + 200))
    expect(await listed(), 'the grace time is over').to.deep.equal(['app://Cube'])
  })

  it('go at once after bye, and for the next application', async () => {
    await expectChange(() => register('Cube'))
    await expectChange(() => app.bye())
    expect(await listed()).to.deep.equal([])
    app = await LinkClient.connect(serve)
    await expectChange(() => register('Cube'))
    app.cut()
    await app.closed
    app = await connectOther()
    expect(await listed()).to.deep.equal([])
  })

  async function connectOther(): Promise<LinkClient> {
    for (let round = 0; ; round++) {
      try {
        return await LinkClient.connect(serve, { instance_id: 'other' })
      } catch (error) {
        if (round > 100) throw error
      }
    }
  }

  it('are refused when the name is not free, or there are too many', async () => {
    const schemes: [string, string][] = [
      ['scene', 'scheme_reserved'],
      ['audit', 'scheme_reserved'],
      ['artefact', 'scheme_reserved'],
      ['A B', 'invalid'],
    ]
    for (const [scheme, code] of schemes) {
      const reply = await app.ask({ type: 'producer.register', scheme })
      expect(reply, scheme).to.include({ type: 'error', code })
    }
    for (let number = 0; number < 16; number++) {
      await app.done({ type: 'producer.register', scheme: `app${number}` })
    }
    const reply = await app.ask({ type: 'producer.register', scheme: 'one-more' })
    expect(reply).to.include({ type: 'error', code: 'limit', retryable: true })
    const many = Array.from({ length: 2001 }, (_, n) => ({ uri: `app0://${n}`, name: 'x' }))
    const large = await app.ask({ type: 'producer.register', scheme: 'app0', resources: many })
    expect(large).to.include({ type: 'error', code: 'limit' })
    for (const type of ['producer.unregister', 'producer.list_changed']) {
      expect(await app.ask({ type, scheme: 'nobody' })).to.include({ code: 'not_found' })
    }
  })
})
