import { expect } from 'chai'
import { serveInProcess } from '../../../helpers/in-process-servers.ts'
import { LinkClient } from '../../../helpers/link.ts'
import { type Events, RawSession } from '../../../helpers/mcp.ts'
import type { RunningServe } from '../../../helpers/serve-process.ts'
import { connectWhenFree } from '../link-health.ts'

const listChanged = 'notifications/resources/list_changed'

describe('schemes of an application over the host link', () => {
  let serve: RunningServe
  let session: RawSession
  let events: Events
  let app: LinkClient

  before(async () => (serve = await serveInProcess()))

  beforeEach(async () => {
    session = await RawSession.open(serve.url)
    events = await session.listen()
    app = await LinkClient.connect(serve)
  })

  afterEach(async () => {
    await session.delete()
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
    await expectChange(() => register('Light', 'Suzanne'))
    expect(await listed()).to.deep.equal(['app://Light', 'app://Suzanne'])
    await expectChange(() => register())
    expect(await listed()).to.deep.equal([])
  })

  it('tell clients that subscribed to a resource, and no others', async () => {
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

  it('that went leave subscriptions that wait for them, and can be given up', async () => {
    const uri = 'app://Cube'
    const subscribe = (to: string) => session.call('resources/subscribe', { uri: to })
    await register()
    await subscribe(uri)
    await app.bye()
    expect((await subscribe(uri)).error.code).to.equal(-32002)
    app = await LinkClient.connect(serve)
    await register()
    await app.done({ type: 'resource.updated', uri })
    await events.until(() => events.updates.includes(uri), 'the update')
    await app.bye()
    const unsubscribed = await session.call('resources/unsubscribe', { uri })
    expect(unsubscribed.result).to.deep.equal({})
    const again = await session.call('resources/unsubscribe', { uri })
    expect(again.error.code).to.equal(-32002)
  })

  it('go at once after bye, and for the next application', async () => {
    await expectChange(() => register('Cube'))
    await expectChange(() => app.bye())
    expect(await listed()).to.deep.equal([])
    app = await LinkClient.connect(serve)
    await expectChange(() => register('Cube'))
    app.cut()
    await app.closed
    app = await connectWhenFree(serve, { instance_id: 'other' })
    expect(await listed()).to.deep.equal([])
  })
})
