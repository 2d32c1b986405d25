import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import { newFolder } from '../helpers/cleanup.ts'
import { until } from '../helpers/until.ts'
import { randomOf } from '../helpers/fakes.ts'
import { freePort } from '../helpers/free-port.ts'
import { type GatewayProcess, startGatewayProcess } from '../helpers/gateway-process.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { callStateless } from '../helpers/stateless.ts'
import { FollowingClient } from './following-client.ts'

const { AGGREGATE_SECONDS, FUZZ_SEED } = process.env
const count = 8
const seconds = Number(AGGREGATE_SECONDS ?? 15)
const seed = Number(FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
const kinds = ['blender', 'maya', 'houdini']
const paths = ['scene/current', 'scene/current?pointer=/value'] as const
const clientsOfEach = 5
const followedByEach = 6
const gatewayKills = 3
/** As many start at a time: on a small machine more would only wait for each other. */
const atOnce = 4

/**
 * Real instances whose resources change at random, killed and started at random, under gateways
 * that are killed; clients of both transports follow some of them.
 */
describe('clients of a gateway that aggregates', function () {
  this.timeout(seconds * 1000 + 240_000)
  let registryDir: string
  let url: string
  let active: GatewayProcess
  let standby: GatewayProcess
  const instances = new Map<string, ServeProcess>()
  /** What each instance has, also after its end; null: it has ended. */
  const model = new Map<string, number | null>()
  const all: ServeProcess[] = []
  const clients: FollowingClient[] = []
  const counts = { changes: 0, ended: 0, started: 0 }

  const drawn = randomOf(seed)
  const random = (below: number) => Math.floor(drawn() * below)
  const oneOf = <T>(items: readonly T[]): T => items[random(items.length)]!

  before(async () => {
    console.log(`      FUZZ_SEED=${seed}, ${count} instances, ${seconds} s`)
    registryDir = newFolder()
    const port = await freePort()
    active = startGateway(port)
    url = (await active.line('listening')).url
    standby = startGateway(port)
    while (instances.size < count) {
      const missing = Math.min(atOnce, count - instances.size)
      await Promise.all(Array.from({ length: missing }, startInstance))
    }
    for (let n = 0; n < clientsOfEach; n++) {
      clients.push(new FollowingClient(url, 'session'), new FollowingClient(url, 'stateless'))
    }
  })
  after(async () => {
    await Promise.all(clients.map(client => client.close()))
    await Promise.all([active, standby].map(gateway => gateway?.kill()))
    for (const serve of all) serve.signal('SIGKILL')
    await Promise.all(all.map(({ exited }) => exited))
  })

  function startGateway(port: number): GatewayProcess {
    return startGatewayProcess({ port, registryDir, flags: ['--aggregate'] })
  }

  /** Resolves when the gateway knows it, so that clients may follow it. */
  async function startInstance(): Promise<void> {
    const kind = kinds[counts.started++ % kinds.length]!
    const serve = await startServeProcess({ registryDir, flags: ['--dcc-type', kind] })
    const { instanceId } = serve
    all.push(serve)
    await serve.post('scene', { value: 0 })
    await until(async () => {
      const uri = `instance://${instanceId}/scene/current`
      const answer = await callStateless(url, 'resources/read', { uri }).catch(() => null)
      return answer?.json?.result !== undefined
    }, 'the gateway knows the instance')
    model.set(instanceId, 0)
    instances.set(instanceId, serve)
  }

  async function change(): Promise<void> {
    const [instanceId, serve] = oneOf([...instances])
    const now = model.get(instanceId)
    if (now === null || now === undefined) return
    try {
      expect((await serve.post('scene', { value: now + 1 })).status).to.equal(200)
      model.set(instanceId, now + 1)
      counts.changes++
    } catch (error) {
      // It was ended meanwhile.
      if (instances.has(instanceId)) throw error
    }
  }

  async function replaceInstance(): Promise<void> {
    const [instanceId, serve] = oneOf([...instances])
    instances.delete(instanceId)
    counts.ended++
    serve.signal(oneOf(['SIGKILL', 'SIGTERM'] as const))
    await serve.exited
    model.set(instanceId, null)
    await startInstance()
  }

  function followMore(client: FollowingClient): void {
    const [instanceId] = oneOf([...instances])
    const selector = clients.indexOf(client) % 4 < 2 ? instanceId : instanceId.slice(0, 13)
    const known = [...client.followed.keys()]
    if (known.length >= followedByEach) client.leave(oneOf(known))
    if (client.followed.size < 2 * followedByEach) {
      client.follow(`instance://${selector}/${oneOf(paths)}`)
    }
  }

  async function killGateway(): Promise<void> {
    await standby.line('standby')
    await active.kill()
    await standby.line('listening')
    active = standby
    standby = startGateway(Number(new URL(url).port))
  }

  /** What a client must have read last. */
  function expected(uri: string): unknown {
    const [, selector = ''] = /^instance:\/\/([^/]+)\//.exec(uri) ?? []
    const [, now] = [...model].find(([id]) => id.startsWith(selector)) ?? []
    return now === null ? 'gone' : now
  }

  function behind(): string[] {
    return clients.flatMap((client, at) =>
      [...client.followed].flatMap(([uri, { value, refused }]) => {
        const wanted = expected(uri)
        return value === wanted
          ? []
          : [`client ${at}: ${uri} is ${value}, not ${wanted} (${refused})`]
      }),
    )
  }

  it('have the last state of all they follow, and hear of nothing else', async () => {
    let isOver = false
    const failures: unknown[] = []
    const inLoop = async (everyMs: number, run: () => Promise<void>) => {
      while (!isOver && failures.length === 0) {
        await run().catch((error: unknown) => failures.push(error))
        await delay(everyMs)
      }
    }
    for (const client of clients) for (let n = 0; n < followedByEach; n++) followMore(client)
    const following = clients.map(client => inLoop(10, () => client.step()))

    const end = performance.now() + seconds * 1000
    const whileItLasts = async (everyMs: number, run: () => Promise<void>) => {
      while (performance.now() < end && failures.length === 0) {
        await run().catch((error: unknown) => failures.push(error))
        await delay(everyMs)
      }
    }
    let kills = 0
    await Promise.all([
      whileItLasts(10, change),
      whileItLasts(2000, replaceInstance),
      whileItLasts(300, async () => followMore(oneOf(clients))),
      whileItLasts((seconds * 1000) / (gatewayKills + 1), async () => {
        if (kills++ > 0 && kills <= gatewayKills + 1) await killGateway()
      }),
    ])
    while (kills++ <= gatewayKills) await killGateway()

    // The changes have ended: nothing but updates that were due brings the last state.
    await until(() => failures.length > 0 || behind().length === 0, 'the last state', 60_000).catch(
      () => expect.fail(behind().join('\n')),
    )
    const { json } = await callStateless(url, 'resources/read', { uri: 'gateway://instances' })
    const rows: any[] = JSON.parse(json.result.contents[0].text).instances
    const live = rows.filter(row => row.health === 'live').map(row => row.instance_id)
    expect(live).to.have.members([...instances.keys()])
    isOver = true
    await Promise.all(following)
    expect(failures).to.deep.equal([])
    expect(clients.flatMap(({ foreign }) => foreign)).to.deep.equal([])
    const sum = (of: (client: FollowingClient) => number) =>
      clients.reduce((total, client) => total + of(client), 0)
    const gone = sum(
      ({ followed }) => [...followed.values()].filter(({ value }) => value === 'gone').length,
    )
    console.log(
      `      ${counts.changes} changes, ${counts.ended} instances ended, ${gatewayKills} gateways ` +
        `killed; ${sum(({ followed }) => followed.size)} URIs followed at the end (${gone} gone), ` +
        `${sum(({ updates }) => updates)} updates, ${sum(({ reads }) => reads)} reads`,
    )
  })
})
