import { expect } from 'chai'
import { newFolder } from '../helpers/cleanup.ts'
import { bearer, makeKeys, type TestKeys } from '../helpers/keyed-server.ts'
import { ask, Events, RawSession, rpc } from '../helpers/mcp.ts'
import { statelessMeta, statelessPost } from '../helpers/stateless.ts'
import { gatewayInProcess, serveInProcess } from '../helpers/in-process-servers.ts'
import type { RunningServe } from '../helpers/serve-process.ts'

const uri = 'server://clients'

/** A client of the stateless transport by this name. */
function statelessClient(url: string, name: string, extra: Record<string, string> = {}) {
  const _meta = statelessMeta({ clientInfo: { name, version: '7' } })
  const post = (method: string, params: Record<string, unknown>) =>
    statelessPost(method, { ...params, _meta }, extra)
  return {
    async call(method: string, params: Record<string, unknown> = {}): Promise<any> {
      return (await ask(url, post(method, params))).json
    },
    async listen(uri: string): Promise<Events> {
      const notifications = { resourceSubscriptions: [uri] }
      const { headers, body } = post('subscriptions/listen', { notifications })
      const events = await Events.open(url, headers, body)
      await events.until(() => events.messages.length > 0, 'the acknowledgement')
      return events
    },
  }
}

type StatelessClient = ReturnType<typeof statelessClient>

async function pageOf(client: StatelessClient): Promise<{ clients: any[] }> {
  const { result } = await client.call('resources/read', { uri })
  return JSON.parse(result.contents[0].text)
}

const named = (page: { clients: any[] }, name: string) =>
  page.clients.find(each => each.name === name)

/**
 * Follows `server://clients` as the live page does: reads it once, and again only after a push.
 * `until` resolves when what was read last satisfies the condition.
 */
async function follow(page: StatelessClient) {
  const events = await page.listen(uri)
  let state = await pageOf(page)
  // Its own coming is pushed, too.
  let read = events.updates.length
  return {
    async until(holds: (state: { clients: any[] }) => boolean) {
      expect(holds(state), 'before the change').to.equal(false)
      while (!holds(state)) {
        await events.until(() => events.updates.length > read, 'an update')
        read = events.updates.length
        state = await pageOf(page)
      }
      events.close()
      return state
    },
  }
}

describe('server://clients of serve', () => {
  let serve: RunningServe
  before(async () => {
    serve = await serveInProcess()
    await serve.post('scene', { objects: [] })
  })

  it('tells clients of both transports and what they read and called', async () => {
    const agent = statelessClient(serve.url, 'agent')
    const session = await RawSession.open(serve.url, '2025-06-18')
    await session.call('resources/list')
    await session.readJson('scene://current')
    await agent.call('tools/list')
    await agent.call('tools/call', { name: 'query_scene', arguments: {} })
    await agent.call('resources/read', { uri: 'scene://nothing' })
    const page = await pageOf(agent)
    const called = await agent.call('tools/call', { name: 'read_resource', arguments: { uri } })
    expect(called.result.content[0].text).to.contain('"agent"')
    const [one, other] = [named(page, 'test'), named(page, 'agent')]
    expect(one).to.include({ version: '1' }).and.not.have.property('principal')
    expect(one.last_read.uri).to.equal('scene://current')
    expect(one).to.not.have.property('last_call')
    expect(other.last_call.tool).to.equal('query_scene')
    expect(other).to.include({ version: '7' }).and.not.have.property('last_read')
    for (const time of [one.last_seen_at, one.last_read.at, other.last_call.at]) {
      expect(new Date(time).toISOString()).to.equal(time)
    }
    await session.delete()
    expect(named(await pageOf(agent), 'test')).to.equal(undefined)
  })

  it('counts no call of a tool that failed, in both transports', async () => {
    const session = await RawSession.open(serve.url, '2025-03-26')
    const agent = statelessClient(serve.url, 'failing')
    // The second fails at once, the last after a while: the application draws no picture.
    const calls = [
      { name: 'query_scene', arguments: {} },
      { name: 'scene_changes', arguments: { since: 'x' } },
      { name: 'look', arguments: {} },
    ]
    for (const call of calls) {
      for (const client of [session, agent]) await client.call('tools/call', call)
    }
    await session.post(`[${rpc('tools/call', calls[2])}]`)
    const page = await pageOf(agent)
    for (const name of ['test', 'failing']) {
      expect(named(page, name).last_call.tool).to.equal('query_scene')
    }
    await session.delete()
  })

  it('pushes what a client did, and that a session comes and goes', async () => {
    const page = statelessClient(serve.url, 'service-page')
    const agent = statelessClient(serve.url, 'follower')
    const acted = await follow(page)
    await agent.call('resources/read', { uri: 'scene://current' })
    await agent.call('tools/call', { name: 'query_scene', arguments: {} })
    await acted.until(state => {
      const row = named(state, 'follower')
      return row?.last_read !== undefined && row.last_call !== undefined
    })
    const came = await follow(page)
    const session = await RawSession.open(serve.url)
    await came.until(state => named(state, 'test') !== undefined)
    const went = await follow(page)
    await session.delete()
    await went.until(state => named(state, 'test') === undefined)
  })
})

describe('server://clients, for callers who may only read', () => {
  let keys: TestKeys
  let serve: RunningServe
  let reader: Record<string, string>
  let writer: Record<string, string>
  before(async () => {
    keys = await makeKeys()
    reader = bearer(await keys.create('reader', { scope: 'read' }))
    writer = bearer(await keys.create('writer'))
    serve = await serveInProcess({ env: { XDG_CONFIG_HOME: keys.folder } })
  })

  /** The answer about a scheme that is not there, as if it had been asked about this one. */
  const absent = ({ id: _, ...answer }: any) =>
    JSON.parse(JSON.stringify(answer).replaceAll(/(server)x/gi, '$1'))

  it('is as if it were not there, in both transports and for tools', async () => {
    const session = await RawSession.open(serve.url, '2025-11-25', reader)
    const stateless = statelessClient(serve.url, 'reader', reader)
    const clients = [session, stateless]
    const asks: [client: RawSession | StatelessClient, method: string, tool?: string][] = [
      [session, 'resources/read'],
      [session, 'resources/subscribe'],
      [session, 'tools/call', 'read_resource'],
      [session, 'tools/call', 'wait_for_change'],
      [stateless, 'resources/read'],
      [stateless, 'subscriptions/listen'],
      [stateless, 'tools/call', 'read_resource'],
    ]
    const paramsOf = (method: string, tool: string | undefined, uri: string) => {
      if (tool !== undefined) return { name: tool, arguments: { uri, uris: [uri] } }
      if (method !== 'subscriptions/listen') return { uri }
      return { notifications: { resourceSubscriptions: [uri] } }
    }
    for (const [client, method, tool] of asks) {
      for (const form of [uri, 'SERVER://clients', 'server:clients']) {
        const unknown = form.replace(/server/i, found => `${found}x`)
        const { id: _, ...answer } = await client.call(method, paramsOf(method, tool, form))
        const instead = await client.call(method, paramsOf(method, tool, unknown))
        expect(answer).to.deep.equal(absent(instead))
        expect(answer.result === undefined || answer.result.isError).to.equal(true)
      }
    }
    for (const client of clients) {
      const { resources } = (await client.call('resources/list')).result
      const uris = resources.map((each: any) => each.uri)
      expect(uris).to.include('scene://current').and.not.include(uri)
      const called = await client.call('tools/call', { name: 'list_resources', arguments: {} })
      expect(JSON.stringify(called.result)).to.contain('scene://current').and.not.contain(uri)
    }
  })

  it('is read by a key that may write, and names the keys', async () => {
    const page = await pageOf(statelessClient(serve.url, 'writer', writer))
    expect(named(page, 'writer').principal).to.equal('key:writer')
    expect(page.clients.map(each => each.principal)).to.include('key:reader')
  })
})

describe('server://clients of a gateway', () => {
  const registryDir = newFolder()

  it('is read and pushed without being listed', async () => {
    const gateway = gatewayInProcess({ port: 0, registryDir })
    const { url } = await gateway.line('listening')
    const page = statelessClient(url, 'service-page')
    const agent = statelessClient(url, 'agent')
    const followed = await follow(page)
    const { resources } = (await agent.call('resources/list')).result
    expect(resources).to.have.length(5)
    expect(JSON.stringify(resources)).to.not.contain('server:')
    await agent.call('resources/read', { uri: 'gateway://instances' })
    const seen = await followed.until(state => named(state, 'agent')?.last_read !== undefined)
    expect(named(seen, 'agent').last_read.uri).to.equal('gateway://instances')
  })
})
