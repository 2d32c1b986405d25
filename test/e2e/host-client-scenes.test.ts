import { expect } from 'chai'
import fc from 'fast-check'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HostClient } from '../../src/host-client.ts'
import { createSceneFollower } from '../../src/lib/mcp/client/scene-follower.ts'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { until } from './until.ts'

const prop = (at: number, x = 0) => ({ id: `Prop.${at}`, x, note: 'n'.repeat(600) })

describe('HostClient: scenes that are patched', function () {
  this.timeout(60_000)
  let registryDir: string
  let serve: ServeProcess
  let host: HostClient
  let session: RawSession

  before(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'scenes-'))
    serve = await startServeProcess({ registryDir })
    session = await RawSession.open(serve.url)
  })
  beforeEach(async () => {
    host = new HostClient({ app: { dccType: 'paint', mode: 'gui' }, registryDir })
    host.start()
    await host.connected()
  })
  afterEach(() => host.stop())
  after(async () => {
    await serve.stop()
    await rm(registryDir, { recursive: true })
  })

  const page = async () => {
    const { result } = await session.call('resources/read', {
      uri: 'scene://current?ids=Prop.0,Prop.19999,Prop.20000&fields=x',
    })
    return JSON.parse(result.contents[0].text).items
  }

  it('send 20,000 objects in parts, and of one that changes that one', async () => {
    host.setScene({ objects: Array.from({ length: 20_000 }, (_, at) => prop(at)), frame: 1 })
    const first = await host.sceneSettled()
    expect(await page()).to.deep.equal([
      { id: 'Prop.0', x: 0 },
      { id: 'Prop.19999', x: 0 },
    ])
    host.patchScene({ objects: [prop(0, 7)], members: { frame: 2 } })
    host.patchScene({ objects: [prop(20_000)], removed: ['Prop.19999'] })
    expect(await host.sceneSettled()).to.equal(Number(first) + 1)
    expect(await page()).to.deep.equal([
      { id: 'Prop.0', x: 7 },
      { id: 'Prop.20000', x: 0 },
    ])
    const { result } = await session.call('resources/read', { uri: `scene://delta?since=${first}` })
    expect(result.contents[0].text.length).to.be.lessThan(4000)
  })

  it('arrive whole after the server was killed, in the middle of parts, too', async () => {
    const large = Array.from({ length: 20_000 }, (_, at) => prop(at, 1))
    host.setScene({ objects: large })
    await new Promise(setImmediate)
    serve.signal('SIGKILL')
    await serve.exited
    host.patchScene({ objects: [prop(0, 2)] })
    serve = await startServeProcess({ registryDir, flags: ['--port', String(serve.port)] })
    session = await RawSession.open(serve.url)
    await until(() => host.status.state === 'connected', 'the connection', 30_000)
    await host.sceneSettled()
    const items = await page()
    expect(items.map(({ x }: { x: number }) => x)).to.deep.equal([2, 1])
  })

  it('are refused when they get too large, and stay as they were', async () => {
    host.setScene({ objects: [prop(0)] })
    expect(() => host.patchScene({ objects: [{ id: '' }] })).to.throw(TypeError, '/objects/0')
    const huge = { id: 'Huge', text: 'x'.repeat(65 * 1024 * 1024) }
    expect(() => host.patchScene({ objects: [huge] })).to.throw(TypeError, "server's limit")
    host.setScene({ objects: [1] })
    expect(() => host.patchScene({ unset: ['a'] })).to.throw(TypeError, 'set one first')
    host.setScene({ objects: [prop(0)] })
    host.patchScene({ members: { frame: 3 } })
    await host.sceneSettled()
    const { result } = await session.call('resources/read', { uri: 'scene://current' })
    expect(JSON.parse(result.contents[0].text)).to.deep.equal({ objects: [prop(0)], frame: 3 })
  })

  it('are, put together from deltas, what the application has', async () => {
    const id = fc.integer({ min: 0, max: 20 }).map(at => `Prop.${at}`)
    const change = fc.record({
      id,
      kind: fc.constantFrom('set', 'set', 'remove', 'member', 'unset', 'whole'),
      x: fc.integer(),
    })
    const read = async (uri: string) => {
      const { result } = await session.call('resources/read', { uri })
      return result.contents.map((content: object) => ({
        kind: 'text',
        mimeType: null,
        ...content,
      }))
    }
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 30 }), async changes => {
        const model = { objects: new Map<string, object>(), members: new Map<string, unknown>() }
        const scene = () => ({
          ...Object.fromEntries(model.members),
          objects: [...model.objects.values()],
        })
        host.setScene(scene())
        await host.sceneSettled()
        const follower = createSceneFollower()
        let seen = await follower.start(read)
        for (const [at, { id, kind, x }] of changes.entries()) {
          if (kind === 'set' || kind === 'whole') model.objects.set(id, { id, x })
          if (kind === 'remove') model.objects.delete(id)
          if (kind === 'member') model.members.set('frame', x)
          if (kind === 'unset') model.members.delete('frame')
          if (kind === 'set') host.patchScene({ objects: [{ id, x }] })
          if (kind === 'remove') host.patchScene({ removed: [id] })
          if (kind === 'member') host.patchScene({ members: { frame: x } })
          if (kind === 'unset') host.patchScene({ unset: ['frame'] })
          if (kind === 'whole') host.setScene(scene())
          if (at % 3 > 0) continue
          await host.sceneSettled()
          seen = (await follower.look(read)).after
        }
        await host.sceneSettled()
        seen = (await follower.look(read)).after
        expect(seen.kind === 'json' && seen.value).to.deep.equal(scene())
        const { result } = await session.call('resources/read', { uri: 'scene://current' })
        expect(JSON.parse(result.contents[0].text)).to.deep.equal(scene())
      }),
      { numRuns: 30 },
    )
  })
})
