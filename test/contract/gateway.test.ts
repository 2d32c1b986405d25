import { expect } from 'chai'
import { silentLogger } from '../../src/lib/util/logger.ts'
import { Catalog } from '../../src/server/gateway/catalog.ts'
import { EventRing } from '../../src/server/gateway/event-ring.ts'
import { openView } from '../../src/server/gateway/views/view.ts'
import { accessLogOn } from '../../src/server/http/access-log.ts'
import { createApp, listenerOf } from '../../src/server/http/app.ts'
import { publicRoutes } from '../../src/server/http/public-routes.ts'
import { ServerSocket } from '../../src/server/http/server-socket.ts'
import { refuseUnread } from '../../src/server/mcp/send.ts'
import { freePort } from '../helpers/free-port.ts'
import { RawSession } from '../helpers/mcp.ts'
import { entry, MemoryDirectory } from '../helpers/instances.ts'
import { callStateless, listenStateless } from '../helpers/stateless.ts'
import {
  closeStreams,
  contentOf,
  failure,
  listAll,
  listChanges,
  listen,
  readFailure,
} from './support.ts'
import { serverDefaults } from '../../src/server/http/limits.ts'

const ids = {
  blender: 'a1b2c3d4-0000-4000-8000-000000000001',
  maya: 'a1b2c3d4-0000-4000-8000-000000000002',
  houdini: 'ffff0000-0000-4000-8000-000000000003',
}

const removedTools = [
  'list_dcc_instances',
  'get_dcc_instance',
  'connect_to_dcc',
  'dcc_catalog__search',
  'dcc_catalog__describe',
]

describe('a gateway', () => {
  let gateway: Awaited<ReturnType<typeof startGatewayServer>>
  let directory: MemoryDirectory
  let ring: EventRing
  let url: string
  let session: RawSession

  before(async () => {
    gateway = await startGatewayServer()
    ;({ directory, ring, url } = gateway)
  })
  // Blender is alive, Maya stale and Houdini dead. An update of this may still be on its way.
  beforeEach(async () => {
    for (const { record } of directory.entries) directory.remove(record.instance_id)
    directory.put(
      entry({ instance_id: ids.blender }),
      entry({ instance_id: ids.maya, dcc_type: 'maya' }, { health: 'stale', reason: 'silent' }),
      entry({ instance_id: ids.houdini, dcc_type: 'houdini' }, { health: 'dead', reason: 'ended' }),
    )
    session = await RawSession.open(url)
  })
  afterEach(async () => {
    closeStreams()
    await session.delete()
  })

  async function instanceIds(query = ''): Promise<string[]> {
    const { instances } = await session.readJson(`gateway://instances${query}`)
    return instances.map((row: any) => row.instance_id)
  }

  it('has instance_id, dcc_type, health, status, metadata and mcp_url of each instance', async () => {
    const metadata = { seat: '7' }
    directory.put(entry({ instance_id: ids.blender, metadata }))
    const content = await contentOf(session, 'gateway://instances')
    expect(content).to.include({ mimeType: 'application/json' })
    expect(JSON.parse(content.text).instances[0]).to.deep.include({
      instance_id: ids.blender,
      dcc_type: 'blender',
      status: 'available',
      health: 'live',
      metadata,
      mcp_url: 'http://127.0.0.1:8765/mcp',
    })
  })

  it('hides stale instances with include_stale=false, shows dead ones with include_dead=true', async () => {
    expect(await instanceIds()).to.deep.equal([ids.blender, ids.maya])
    expect(await instanceIds('?include_stale=false')).to.deep.equal([ids.blender])
    expect(await instanceIds('?include_dead=true')).to.deep.equal(Object.values(ids))
  })

  it('selects one instance by its full UUID or by a unique prefix', async () => {
    for (const selector of [ids.maya, 'FFFF0000', 'ffff', ids.houdini.replaceAll('-', '')]) {
      const row = await session.readJson(`gateway://instances/${selector}`)
      const expected = selector === ids.maya ? ids.maya : ids.houdini
      expect(row.instance_id, selector).to.equal(expected)
      expect(row.mcp_url).to.be.a('string')
    }
  })

  it('names the candidates of an ambiguous prefix; an unknown one is not found', async () => {
    const uri = 'gateway://instances/a1b2'
    const several = await readFailure(session, uri)
    expect(several).to.include({ code: -32602 })
    expect(several.data).to.deep.include({ uri, candidates: [ids.blender, ids.maya] })
    expect(await failure(session, 'resources/subscribe', { uri })).to.include({ code: -32602 })
    const unknown = 'gateway://instances/0123abcd'
    const none = await readFailure(session, unknown)
    expect(none).to.deep.include({ code: -32002, data: { uri: unknown } })
    expect(none.message).to.contain('gateway://instances')
  })

  it('counts live, stale and unhealthy instances beside its process, also of one kind', async () => {
    directory.put(entry({}, { health: 'unhealthy', reason: 'no answer' }))
    const uri = 'gateway://diagnostics/process'
    const payload = await session.readJson(uri)
    expect(payload.counts).to.deep.equal({ total: 4, live: 1, stale: 1, unhealthy: 1, dead: 1 })
    expect(payload.gateway).to.include({ pid: process.pid, own_host: '127.0.0.1' })
    expect(payload.gateway.own_port).to.equal(Number(new URL(url).port))
    const { counts } = await session.readJson(`${uri}?dcc_type=maya`)
    expect(counts).to.deep.equal({ total: 1, live: 0, stale: 1, unhealthy: 0, dead: 0 })
  })

  it('sums up pending calls and resource subscriptions, also of what is never pushed', async () => {
    const summary = async () => (await session.readJson('gateway://diagnostics/audit')).summary
    expect(await summary()).to.include({ pending_calls: 0, resource_subscriptions: 0 })
    await session.call('resources/subscribe', { uri: 'gateway://instances' })
    expect(await summary()).to.include({ resource_subscriptions: 1 })
    await session.call('resources/subscribe', { uri: 'resources://gateway/events' })
    expect(await summary()).to.include({ resource_subscriptions: 2 })
  })

  it('has metrics: no local tools, live backends, timeouts, publishes_backend_tools false', async () => {
    const { metrics } = await session.readJson('gateway://diagnostics/metrics')
    expect(metrics).to.include({
      gateway_local_tools: 0,
      live_instances: 1,
      backend_timeout_ms: 5000,
      publishes_backend_tools: false,
    })
  })

  it('has a catalog of packages, those for ?query=, and one by its exact name', async () => {
    const names = async (query: string) => {
      const { entries } = await session.readJson(`gateway://catalog${query}`)
      return entries.map((each: any) => each.name)
    }
    expect(await names('')).to.deep.equal(['service-cli-blender', 'service-cli-python'])
    expect(await names('?query=maya')).to.deep.equal(['service-cli-python'])
    const found = await session.readJson('gateway://catalog/service-cli-blender')
    expect(found).to.include({ name: 'service-cli-blender' })
    const uri = 'gateway://catalog/Service-CLI-Blender'
    expect(await readFailure(session, uri)).to.deep.include({ code: -32002, data: { uri } })
  })

  it('has its events as application/jsonl, one object a line, newest last, never pushed', async () => {
    const uri = 'resources://gateway/events'
    const events = await listen(session, uri, 'gateway://instances')
    ring.record({ event: 'election_won', instanceId: 'gateway', reason: 'the port is free' })
    directory.judge(ids.blender, 'stale', 'silent for 31 s')
    await events.until(() => events.updates.length > 0)
    expect(new Set(events.updates)).to.deep.equal(new Set(['gateway://instances']))
    const content = await contentOf(session, uri)
    expect(content).to.include({ mimeType: 'application/jsonl' })
    const lines: any[] = content.text
      .trimEnd()
      .split('\n')
      .map((line: string) => JSON.parse(line))
    expect(lines.at(-2)).to.include({ event: 'election_won' })
    expect(lines.at(-1)).to.include({
      event: 'instance_stale',
      dcc_type: 'blender',
      instance_id: 'a1b2c3d4',
      reason: 'silent for 31 s',
    })
    expect(lines.at(-1).timestamp).to.match(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/)
  })

  it('lists the five root pointers only', async () => {
    const listed = await listAll(session)
    expect(listed.map(each => each.uri)).to.deep.equal([
      'gateway://instances',
      'gateway://diagnostics/process',
      'gateway://diagnostics/audit',
      'gateway://diagnostics/metrics',
      'gateway://catalog',
    ])
    for (const { mimeType } of listed) expect(mimeType).to.equal('application/json')
  })

  it('has none of the removed tools: −32601 on every transport, and an empty list', async () => {
    for (const name of removedTools) {
      const params = { name, arguments: {} }
      expect((await failure(session, 'tools/call', params)).code, name).to.equal(-32601)
      const call = await callStateless(url, 'tools/call', params)
      expect(call.json.error.code, name).to.equal(-32601)
    }
    expect((await session.call('tools/list')).result).to.deep.equal({ tools: [] })
    const stateless = await callStateless(url, 'tools/list', {})
    expect(stateless.json.result.tools).to.deep.equal([])
  })

  it('pushes instances that appear, change, become stale, die or go', async () => {
    const uri = 'gateway://instances?limit=5'
    const events = await listen(session, uri)
    const id = '00000000-0000-4000-8000-000000000009'
    const steps = [
      () => directory.put(entry({ instance_id: id })),
      () => directory.put(entry({ instance_id: id, scene: '/other.blend' })),
      () => directory.judge(id, 'stale', 'silent'),
      () => directory.judge(id, 'dead', 'its process has ended'),
      () => directory.remove(id),
    ]
    for (const [at, step] of steps.entries()) {
      step()
      await events.until(() => events.updates.length > at)
    }
    expect(new Set(events.updates)).to.deep.equal(new Set([uri]))
  })

  it('pushes one instance to those who subscribed to it, by any prefix', async () => {
    const uri = 'gateway://instances/FFFF-00'
    const events = await listen(session, uri)
    directory.judge(ids.maya, 'dead', 'its process has ended')
    directory.judge(ids.houdini, 'live', 'it is back')
    await events.until(() => events.updates.length > 0)
    await session.call('ping')
    expect(new Set(events.updates)).to.deep.equal(new Set([uri]))
  })

  it('pushes both at 2026-07-28, and one instance by a prefix; never events', async () => {
    const uris = ['gateway://instances', 'gateway://instances/FF-FF-00']
    const unpushed = ['resources://gateway/events', 'gateway://diagnostics/audit']
    const events = await listenStateless(url, {
      resourcesListChanged: true,
      resourceSubscriptions: [...uris, ...unpushed],
    })
    const { notifications } = events.messages[0].params
    expect(notifications.resourceSubscriptions).to.deep.equal(uris)
    directory.judge(ids.houdini, 'live', 'it is back')
    await events.until(() => new Set(events.updates).size === 2)
    expect(new Set(events.updates)).to.deep.equal(new Set(uris))
    await events.until(() => listChanges(events) > 0)
  })
})

/** The real endpoint on a free port, over a directory that the test fills. */
async function startGatewayServer() {
  const host = '127.0.0.1'
  const limits = serverDefaults
  const log = silentLogger
  const directory = new MemoryDirectory()
  const ring = new EventRing()
  const port = await freePort()
  const url = `http://${host}:${port}/mcp`
  const { endpoint, close } = openView(
    {
      connections: undefined,
      catalog: await Catalog.open(),
      tools: false,
      self: { host, port, mcpUrl: url },
      limits,
      log,
      accessLog: () => {},
    },
    directory,
    undefined,
    ring,
  )
  const app = createApp({
    reach: { host },
    mcp: { handle: (...asked) => endpoint.handle(...asked), refuse: refuseUnread },
    routes: publicRoutes(),
    onRefused: () => {},
    log,
    accessLog: accessLogOn(log),
  })
  const socket = new ServerSocket({ host, port }, { limits, log })
  await socket.bind({ listener: listenerOf(app) })
  return {
    url,
    directory,
    ring,
    async stop() {
      const stopped = socket.stop()
      close()
      await stopped
    },
  }
}
