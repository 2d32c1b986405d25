import { expect } from 'chai'
import { JoinOrServe, joinable } from '../../../../src/commands/stdio/join-or-serve.ts'
import { locateInstance } from '../../../../src/commands/stdio/locate-instance.ts'
import type { Instance } from '../../../../src/lib/instances/instance.ts'
import type { Result } from '../../../../src/lib/util/result.ts'
import type { Target } from '../../../../src/lib/mcp/bridge/context.ts'
import type { ServeHandle } from '../../../../src/server/host/serve-options.ts'

function instance(id: string, more: Partial<Instance> = {}): Instance {
  const url = `http://127.0.0.1:1/${id}`
  const owner = { pid: 1, pidStart: null, hostname: 'here', startedMs: 0 }
  return { id, dccType: 'blender', displayName: id, scene: null, url, ...owner, ...more }
}

const blender = instance('blender-1')
const second = instance('blender-2')
const maya = instance('maya-1', { dccType: 'maya' })
const unknown = instance('unknown-1', { dccType: 'unknown' })

describe('joinable', () => {
  const table: [kind: string | undefined, among: Instance[], joined: string][] = [
    [undefined, [], 'none'],
    [undefined, [maya], 'maya-1'],
    [undefined, [maya, blender], 'several'],
    ['blender', [maya, blender], 'blender-1'],
    ['blender', [maya, unknown], 'unknown-1'],
    ['blender', [unknown, blender], 'blender-1'],
    ['blender', [blender, second], 'several'],
    ['blender', [maya], 'none'],
    ['unknown', [maya], 'none'],
  ]
  for (const [kind, among, joined] of table) {
    it(`returns ${joined} for ${kind} among ${among.map(({ id }) => id).join(', ')}`, () => {
      const selection = joinable(among, kind)
      expect(selection.kind === 'one' ? selection.instance.id : selection.kind).to.equal(joined)
    })
  }
})

describe('JoinOrServe', () => {
  /** Running instances and a clock that the test moves. */
  class World {
    live: Instance[] = []
    now = 1_000_000
    starts = 0
    stops = 0
    locks = 0
    said: string[] = []
    end = Promise.withResolvers<void>()
    failure: Error | null = null

    place(dccType?: string): JoinOrServe {
      return new JoinOrServe({
        dccType,
        live: async () => this.live,
        locked: async work => {
          this.locks++
          return work()
        },
        start: async () => {
          if (this.failure !== null) throw this.failure
          this.starts++
          return this.#handle()
        },
        joined: ({ id }) => this.said.push(`joined ${id}`),
        started: () => this.said.push('started'),
        now: () => this.now,
        random: () => 0.5,
        takeoverMs: 1000,
      })
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

  const url = (place: Result<Target, string>) => (place.ok ? place.value.url.href : place.failure)

  it('joins a running server and starts none', async () => {
    const world = new World()
    world.live = [blender]
    const place = world.place()
    await place.open()
    expect(url(await place.locate())).to.equal(blender.url)
    await place.stop()
    expect(world).to.include({ starts: 0, stops: 0, locks: 1 })
    expect(world.said).to.deep.equal(['joined blender-1'])
  })

  it('starts a server when none runs and targets its address', async () => {
    const world = new World()
    const place = world.place()
    await place.open()
    for (let times = 0; times < 3; times++) {
      expect(url(await place.locate())).to.equal('http://127.0.0.1:9/mcp')
    }
    await place.stop()
    world.end.resolve()
    expect(world).to.include({ starts: 1, stops: 1 })
  })

  it('lists the candidates when several servers match', async () => {
    const world = new World()
    world.live = [blender, maya]
    const error = await world
      .place()
      .open()
      .catch(cause => cause)
    expect(error.code).to.equal('usage_invalid')
    expect(error.message).to.contain('maya-1')
  })

  it('waits for the joined server to return, then starts its own', async () => {
    const world = new World()
    world.live = [blender]
    const place = world.place()
    await place.open()
    await place.locate()
    world.live = []
    expect(url(await place.locate())).to.contain('does not answer')
    world.now += 1499
    expect(url(await place.locate())).to.contain('does not answer')
    world.live = [instance('blender-1b', { displayName: 'blender-1', startedMs: world.now })]
    expect(url(await place.locate())).to.equal('http://127.0.0.1:1/blender-1b')
    world.live = []
    expect(url(await place.locate())).to.contain('does not answer')
    world.now += 1501
    expect(url(await place.locate())).to.equal('http://127.0.0.1:9/mcp')
    expect(world.starts).to.equal(1)
    expect(world.said).to.deep.equal(['joined blender-1', 'joined blender-1b', 'started'])
  })

  it('joins a server that another client started', async () => {
    const world = new World()
    world.live = [blender]
    const place = world.place('blender')
    await place.open()
    await place.locate()
    world.live = []
    await place.locate()
    world.now += 60_000
    world.live = [second]
    expect(url(await place.locate())).to.equal(second.url)
    expect(world.starts).to.equal(0)
  })

  /** The server `blender` was joined and lost, and one was started in its place. */
  async function standingIn(world: World): Promise<JoinOrServe> {
    world.live = [blender]
    const place = world.place()
    await place.open()
    await place.locate()
    world.live = []
    await place.locate()
    world.now += 1501
    await place.locate()
    expect(world.starts).to.equal(1)
    return place
  }

  it('hands back to the replaced server when it returns', async () => {
    const world = new World()
    const place = await standingIn(world)
    const moves: string[] = []
    const look = () => place.handBack(() => void moves.push('moved'))
    const own = instance('own', { startedMs: world.now })
    world.live = [own]
    await look()
    expect(moves).to.deep.equal([])
    const back = instance('blender-1b', { startedMs: world.now, dccType: 'unknown' })
    world.live = [own, back]
    await look()
    expect(moves).to.deep.equal(['moved'])
    expect(world).to.include({ starts: 1, stops: 1 })
    // Its record may still be there for a moment.
    expect(url(await place.locate())).to.equal(back.url)
    world.end.resolve()
    await look()
    expect(moves).to.deep.equal(['moved'])
    expect(world.said).to.deep.equal(['joined blender-1', 'started', 'joined blender-1b'])
  })

  it('hands back to the same process after an absence', async () => {
    const world = new World()
    const place = await standingIn(world)
    const moves: string[] = []
    world.live = [instance('own', { startedMs: world.now }), blender]
    await place.handBack(() => void moves.push('moved'))
    expect(moves).to.deep.equal(['moved'])
    expect(url(await place.locate())).to.equal(blender.url)
    expect(world).to.include({ starts: 1, stops: 1 })
  })

  it('does not hand over to another application or to an older server', async () => {
    const world = new World()
    const place = await standingIn(world)
    const later = { startedMs: world.now }
    world.live = [second, { ...maya, ...later }]
    await place.handBack(() => expect.fail('moved'))
    expect(world.stops).to.equal(0)
  })

  it('keeps its server when it replaced none', async () => {
    const world = new World()
    const place = world.place()
    await place.open()
    world.live = [instance('blender-2', { startedMs: world.now + 1 })]
    await place.handBack(() => expect.fail('moved'))
    expect(world.stops).to.equal(0)
  })

  it('reports why the start failed and retries', async () => {
    const world = new World()
    world.live = [blender]
    const place = world.place()
    await place.open()
    await place.locate()
    world.live = []
    await place.locate()
    world.now += 60_000
    world.failure = new Error('port 8765 is taken')
    expect(url(await place.locate())).to.contain('port 8765 is taken')
    world.failure = null
    expect(url(await place.locate())).to.equal('http://127.0.0.1:9/mcp')
  })

  it('rejects broken when its own server fails', async () => {
    const world = new World()
    const place = world.place()
    await place.open()
    world.end.reject(new Error('it broke'))
    const error = await place.broken.catch(cause => cause)
    expect(error.message).to.equal('it broke')
  })
})

describe('locateInstance', () => {
  const next = instance('blender-1b', { displayName: 'blender-1', startedMs: 2_000_000 })
  const table: [word: string | undefined, live: Instance[], place: string][] = [
    [undefined, [blender, maya], blender.url],
    [undefined, [], 'the instance blender-1 does not run or does not answer'],
    [undefined, [maya], maya.url],
    [undefined, [maya, next], next.url],
    ['blender', [second], second.url],
    ['blender', [maya], 'the instance blender-1 does not run or does not answer'],
    ['blen', [second], 'the instance blender-1 does not run or does not answer'],
    ['blen', [second, next], next.url],
  ]
  for (const [word, live, place] of table) {
    const names = live.map(({ id }) => id).join(', ')
    it(`returns ${place} for ${word} among ${names}`, async () => {
      const locate = locateInstance({
        first: blender,
        word,
        live: async () => live,
        now: () => 2e6,
      })
      await locate()
      const found = await locate()
      expect(found.ok ? found.value.url.href : found.failure).to.equal(place)
    })
  }
})
