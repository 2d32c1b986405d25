import { expect } from 'chai'
import type { RawSession } from '../helpers/mcp.ts'
import { entry } from '../helpers/memory-directory.ts'
import { callStateless } from '../helpers/stateless.ts'
import { failure, listAll, listening } from './facts.ts'
import { gatewayFacts, ids } from './gateway-facts.ts'

async function instanceIds(session: RawSession, query = ''): Promise<string[]> {
  const { instances } = await session.readJson(`gateway://instances${query}`)
  return instances.map((row: any) => row.instance_id)
}

const read = (session: RawSession, uri: string) => session.call('resources/read', { uri })

gatewayFacts('specification: Gateway-native resources, instances', [
  [
    'each row has instance_id, dcc_type, health and status, metadata, and mcp_url',
    async ({ session, directory }) => {
      const metadata = { seat: 7 }
      directory.put(entry({ instanceId: ids.blender, metadata }))
      const { result } = await read(session, 'gateway://instances')
      expect(result.contents[0]).to.include({ mimeType: 'application/json' })
      const [row] = JSON.parse(result.contents[0].text).instances
      expect(row).to.deep.include({
        instance_id: ids.blender,
        dcc_type: 'blender',
        status: 'available',
        health: 'live',
        metadata,
        mcp_url: 'http://127.0.0.1:8765/mcp',
      })
    },
  ],
  [
    'stale rows are shown; include_stale=false hides them',
    async ({ session }) => {
      expect(await instanceIds(session)).to.deep.equal([ids.blender, ids.maya])
      expect(await instanceIds(session, '?include_stale=false')).to.deep.equal([ids.blender])
    },
  ],
  [
    'include_dead=true adds rows whose owner process has exited',
    async ({ session }) => {
      const all = Object.values(ids)
      expect(await instanceIds(session, '?include_dead=true')).to.deep.equal(all)
    },
  ],
  [
    'one instance is selected by its full UUID or by a unique prefix',
    async ({ session }) => {
      for (const selector of [ids.maya, 'FFFF0000', 'ffff', ids.houdini.replaceAll('-', '')]) {
        const row = await session.readJson(`gateway://instances/${selector}`)
        const expected = selector === ids.maya ? ids.maya : ids.houdini
        expect(row.instance_id, selector).to.equal(expected)
        expect(row.mcp_url).to.be.a('string')
      }
    },
  ],
  [
    'a prefix of several is an error that names the candidates; an unknown one is not found',
    async ({ session }) => {
      const uri = 'gateway://instances/a1b2'
      const several = await failure(session, 'resources/read', { uri })
      expect(several).to.deep.include({ code: -32602 })
      expect(several.data).to.include({ uri, total: 2 })
      const candidates = several.data?.candidates as { instance_id: string }[]
      expect(candidates.map(each => each.instance_id)).to.deep.equal([ids.blender, ids.maya])
      const unknown = 'gateway://instances/0123abcd'
      const none = await failure(session, 'resources/read', { uri: unknown })
      expect(none).to.deep.include({ code: -32002, data: { uri: unknown } })
      expect(none.message).to.contain('gateway://instances')
    },
  ],
])

gatewayFacts('specification: Gateway-native resources, diagnostics', [
  [
    'process: the process, and counts of live, stale and unhealthy instances',
    async ({ session, directory, url }) => {
      directory.put(entry({}, { health: 'unhealthy', reason: 'no answer' }))
      const payload = await session.readJson('gateway://diagnostics/process')
      expect(payload.counts).to.deep.equal({ total: 4, live: 1, stale: 1, unhealthy: 1, dead: 1 })
      expect(payload.gateway).to.include({ pid: process.pid, own_host: '127.0.0.1' })
      expect(payload.gateway.own_port).to.equal(Number(new URL(url).port))
    },
  ],
  [
    'process: dcc_type counts one kind alone',
    async ({ session }) => {
      const { counts } = await session.readJson('gateway://diagnostics/process?dcc_type=maya')
      expect(counts).to.deep.equal({ total: 1, live: 0, stale: 1, unhealthy: 0, dead: 0 })
    },
  ],
  [
    'audit: pending calls and resource subscriptions',
    async ({ session }) => {
      const summary = async () => (await session.readJson('gateway://diagnostics/audit')).summary
      expect(await summary()).to.include({ pending_calls: 0, resource_subscriptions: 0 })
      await session.call('resources/subscribe', { uri: 'gateway://instances' })
      expect(await summary()).to.include({
        resource_subscriptions: 1,
        resource_subscription_sessions: 1,
      })
      // Never pushed, and held by the client all the same.
      const polled = { uri: 'resources://gateway/events' }
      await session.call('resources/subscribe', polled)
      expect(await summary()).to.include({ resource_subscriptions: 2 })
      await session.call('resources/unsubscribe', polled)
      expect(await summary()).to.include({ resource_subscriptions: 1 })
    },
  ],
  [
    'metrics: no local tools, live backends, time-outs, publishes_backend_tools false',
    async ({ session }) => {
      const { metrics } = await session.readJson('gateway://diagnostics/metrics')
      expect(metrics).to.include({
        gateway_local_tools: 0,
        live_instances: 1,
        backend_timeout_ms: 5000,
        publishes_backend_tools: false,
      })
    },
  ],
])

gatewayFacts('specification: Gateway-native resources, catalog', [
  [
    'gateway://catalog lists packages, ?query= those that fit',
    async ({ session }) => {
      const all = await session.readJson('gateway://catalog')
      expect(all.entries.map((each: any) => each.name)).to.deep.equal([
        'service-cli-blender',
        'service-cli-python',
      ])
      const found = await session.readJson('gateway://catalog?query=maya')
      expect(found.entries.map((each: any) => each.name)).to.deep.equal(['service-cli-python'])
    },
  ],
  [
    'gateway://catalog/{name} is one entry by its exact name',
    async ({ session }) => {
      const found = await session.readJson('gateway://catalog/service-cli-blender')
      expect(found).to.include({ name: 'service-cli-blender' })
      const uri = 'gateway://catalog/Service-CLI-Blender'
      const other = await failure(session, 'resources/read', { uri })
      expect(other).to.deep.include({ code: -32002, data: { uri } })
      expect(other.message).to.contain('gateway://instances')
    },
  ],
])

gatewayFacts('specification: Gateway-native resources, events', [
  [
    'resources://gateway/events is application/jsonl: one object a line, newest last',
    async ({ session, directory, ring }) => {
      ring.record({ event: 'election_won' })
      directory.judge(ids.blender, 'stale', 'silent for 31 s')
      const { result } = await read(session, 'resources://gateway/events')
      expect(result.contents[0]).to.include({ mimeType: 'application/jsonl' })
      const lines: string[] = result.contents[0].text.trimEnd().split('\n')
      const events = lines.map(line => JSON.parse(line))
      expect(events.at(-2)).to.include({ event: 'election_won' })
      expect(events.at(-1)).to.include({
        event: 'instance_stale',
        dcc_type: 'blender',
        instance_id: 'a1b2c3d4',
        reason: 'silent for 31 s',
      })
      expect(events.at(-1).timestamp).to.match(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/)
    },
  ],
  [
    'events are read, not pushed',
    async ({ session, ring, directory }) => {
      const uris = ['resources://gateway/events', 'gateway://instances']
      await listening(session, uris, async events => {
        ring.record({ event: 'election_won' })
        directory.remove(ids.blender)
        await events.until(() => events.updates.length > 0)
        expect(events.updates).to.deep.equal(['gateway://instances'])
      })
    },
  ],
])

gatewayFacts('specification: Gateway listing rule', [
  [
    'resources/list has the five root pointers only, however many instances there are',
    async ({ session }) => {
      const listed = await listAll(session)
      expect(listed.map(each => each.uri)).to.deep.equal([
        'gateway://instances',
        'gateway://diagnostics/process',
        'gateway://diagnostics/audit',
        'gateway://diagnostics/metrics',
        'gateway://catalog',
      ])
      for (const { mimeType } of listed) expect(mimeType).to.equal('application/json')
    },
  ],
])

const removedTools = [
  'list_dcc_instances',
  'get_dcc_instance',
  'connect_to_dcc',
  'dcc_catalog__search',
  'dcc_catalog__describe',
]

gatewayFacts('specification: Removed legacy gateway tools', [
  [
    'calling one is −32601 on every transport, and where tools can be listed there are none',
    async ({ session, url }) => {
      for (const name of removedTools) {
        const error = await failure(session, 'tools/call', { name, arguments: {} })
        expect(error.code, name).to.equal(-32601)
        const call = await callStateless(url, 'tools/call', { name, arguments: {} })
        expect(call.json.error.code, name).to.equal(-32601)
      }
      const { result } = await session.call('tools/list')
      expect(result).to.deep.equal({ tools: [] })
      const stateless = await callStateless(url, 'tools/list', {})
      expect(stateless.json.result.tools).to.deep.equal([])
    },
  ],
])
