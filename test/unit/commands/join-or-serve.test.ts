import { expect } from 'chai'
import { JoinOrServe } from '../../../src/commands/stdio/join-or-serve.ts'
import { locateInstance } from '../../../src/commands/stdio/locate-instance.ts'
import type { Instance } from '../../../src/lib/instances/instance.ts'
import type { Target } from '../../../src/lib/mcp/bridge/context.ts'
import type { Result } from '../../../src/lib/util/result.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { failureOf } from '../../helpers/failure.ts'
import type { ServeHandle } from '../../../src/server/host/serve-options.ts'

function instance(id: string, more: Partial<Instance> = {}): Instance {
  const url = `http://127.0.0.1:1/${id}`
  const owner = { pid: 1, pidStart: null, hostname: 'here', startedMs: 0 }
  return { id, dccType: 'blender', displayName: id, scene: null, url, ...owner, ...more }
}

const blender = instance('blender-1')
const second = instance('blender-2')
const maya = instance('maya-1', { dccType: 'maya' })
const unknown = instance('unknown-1', { dccType: 'unknown' })
const ownUrl = 'http://127.0.0.1:9/mcp'

const url = (place: Result<Target, string>) => (place.ok ? place.value.url.href : place.failure)

/** Running instances, and the servers that start here. */
class World {
  live: Instance[] = [blender]
  starts = 0
  stops = 0
  said: string[] = []
  end = Promise.withResolvers<void>()
  failure: Error | null = null

  place(dccType?: string, takeoverMs = 0): JoinOrServe {
    return new JoinOrServe({
      dccType,
      ownOnly: [],
      live: async () => this.live,
      locked: work => work(),
      start: async () => {
        if (this.failure !== null) throw this.failure
        this.starts++
        return this.#handle()
      },
      log: { ...silentLogger, info: (_, message) => void this.said.push(String(message)) },
      takeoverMs,
    })
  }

  /** A place that has joined `blender` and then lost it. */
  async lost(dccType?: string, takeoverMs?: number): Promise<JoinOrServe> {
    const place = this.place(dccType, takeoverMs)
    await place.open()
    await place.locate()
    this.live = []
    return place
  }

  #handle(): ServeHandle {
    return {
      url: 'https://studio.example/mcp',
      hostUrl: 'http://127.0.0.1:9/host',
      hostTokenFile: null,
      instanceId: 'own',
      pageLogin: () => null,
      gatewayPageLogin: async () => null,
      capture: null,
      closed: this.end.promise,
      stop: async () => void this.stops++,
    }
  }
}

describe('JoinOrServe', () => {
  let world: World
  beforeEach(() => (world = new World()))

  const cases: [kind: string | undefined, among: Instance[], joined: string][] = [
    [undefined, [], ownUrl],
    [undefined, [maya], maya.url],
    ['blender', [maya, unknown], unknown.url],
    ['blender', [unknown, blender], blender.url],
    ['blender', [maya], ownUrl],
  ]
  for (const [kind, among, expected] of cases) {
    it(`opens ${expected} for ${kind} among ${among.map(({ id }) => id).join(', ')}`, async () => {
      world.live = among
      const place = world.place(kind)
      await place.open()
      expect(url(await place.locate())).to.equal(expected)
    })
  }

  it('refuses to choose between several servers', async () => {
    for (const [kind, among] of [
      ['blender', [blender, second]],
      [undefined, [maya, blender]],
    ] as const) {
      world.live = [...among]
      expect(await failureOf(() => world.place(kind).open())).to.include({ code: 'usage_invalid' })
    }
  })

  it('waits for the joined server to return', async () => {
    const place = await world.lost(undefined, 60_000)
    expect(url(await place.locate())).to.contain('does not answer')
    world.live = [instance('blender-1b', { displayName: 'blender-1', startedMs: Date.now() })]
    expect(url(await place.locate())).to.equal('http://127.0.0.1:1/blender-1b')
    world.live = []
    expect(url(await place.locate())).to.contain('does not answer')
    expect(world.said).to.deep.equal(['joined the running server', 'joined the running server'])
  })

  it('starts a server when the joined one stays away, and ends it', async () => {
    const place = await world.lost()
    for (let time = 0; time < 2; time++) expect(url(await place.locate())).to.equal(ownUrl)
    await place.stop()
    expect(world).to.include({ starts: 1, stops: 1 })
  })

  it('joins a server that another client started', async () => {
    const place = await world.lost('blender')
    world.live = [second]
    expect(url(await place.locate())).to.equal(second.url)
    expect(world.starts).to.equal(0)
  })

  it('reports why the start failed and retries', async () => {
    const place = await world.lost()
    world.failure = new Error('port 8765 is taken')
    expect(url(await place.locate())).to.contain('port 8765 is taken')
    world.failure = null
    expect(url(await place.locate())).to.equal(ownUrl)
  })

  it('rejects failed when its own server fails', async () => {
    world.live = []
    const place = world.place()
    await place.open()
    world.end.reject(new Error('it broke'))
    const error = await place.failed.catch(cause => cause)
    expect(error.message).to.equal('it broke')
  })
})

describe('locateInstance', () => {
  const next = instance('blender-1b', { displayName: 'blender-1', startedMs: 2_000_000 })
  const nowhere = 'the instance blender-1 does not run or does not answer'
  const cases: [word: string | undefined, live: Instance[], place: string][] = [
    [undefined, [blender, maya], blender.url],
    [undefined, [], nowhere],
    [undefined, [maya], maya.url],
    ['blender', [second], second.url],
    ['blen', [second], nowhere],
    ['blen', [second, next], next.url],
  ]
  for (const [word, live, place] of cases) {
    const names = live.map(({ id }) => id).join(', ')
    it(`returns ${place} for ${word} among ${names}`, async () => {
      const parts = { first: blender, word, instancesDir: '/r', now: () => 2e6 }
      const locate = locateInstance({ ...parts, live: async () => live })
      await locate()
      expect(url(await locate())).to.equal(place)
    })
  }
})
