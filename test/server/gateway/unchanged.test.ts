import { expect } from 'chai'
import type { GatewayHandle } from '../../../src/server/gateway.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { ask, RawSession } from '../../helpers/mcp.ts'
import {
  contentsOf,
  type HeldRead,
  type ScriptedInstance,
  startScriptedInstance,
} from '../../helpers/instances.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { callStateless, listenStateless, statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { at, startAggregating } from './aggregating.ts'
import { newFolder } from '../../helpers/cleanup.ts'

const registryDir = newFolder()

const scene = {
  schema: 'dcc-scene/1',
  document: { name: 'shot.blend' },
  objects: [{ id: 'Cube', name: 'Cube' }],
}

describe('a server under its address at a gateway', () => {
  let serve: RunningServe

  before(async () => {
    serve = await serveInProcess({ flags: ['--dcc-type', 'blender', '--name', 'my blender'] })
    await serve.post('scene', scene)
  })

  const call = async (method: string, params: Record<string, unknown>) =>
    (await callStateless(serve.url, method, params)).json
  const read = (uri: string) => call('resources/read', { uri })
  const callTool = async (name: string, args: object) =>
    (await call('tools/call', { name, arguments: args })).result
  const alias = (id: string, path = 'scene/current') => `instance://${id}/${path}`

  it('reads its resources by its id or four digits of it, and echoes what was asked for', async () => {
    const { instanceId: id } = serve
    const plain = (await read('scene://current')).result.contents[0]
    for (const selector of [
      id,
      id.slice(0, 4),
      id.replaceAll('-', '').slice(0, 12).toUpperCase(),
    ]) {
      const [content] = (await read(alias(selector))).result.contents
      expect(content).to.deep.equal({ ...plain, uri: alias(selector) })
    }
    const uri = alias(id, 'SCENE/current?pointer=/document')
    expect((await read(uri)).result.contents[0].uri).to.equal(uri)
  })

  it('has no resource under three digits, another id, or two levels', async () => {
    const { instanceId: id } = serve
    const others = [
      alias(id.slice(0, 3)),
      alias('00000000-0000-4000-8000-000000000000'),
      alias(id, `instance/${id}/scene/current`),
      alias(id, 'nothing/here'),
    ]
    for (const uri of others) {
      const { error } = await read(uri)
      expect([error.code, error.data?.uri], uri).to.deep.equal([-32602, uri])
    }
  })

  it('decides by what the address names: parameters, drained events, hidden resources', async () => {
    const { instanceId: id } = serve
    expect((await read(alias(id, 'scene/current?colour=red'))).error.message).to.include('known:')
    const event = { source: 'render', stream: 'out', level: 'info', message: 'begun' }
    await serve.post('events/job', { events: [event] })
    // As a gateway asks, which only reads.
    const asGateway = async (uri: string) => {
      const post = statelessPost('resources/read', { uri }, { 'Service-Instance': id })
      return ask(serve.url, post)
    }
    const drained = alias(id, 'events/session/job?drain=true')
    expect((await asGateway(drained)).status).to.equal(403)
    expect((await asGateway(alias(id, 'server/clients'))).json.error.code).to.equal(-32602)
    const { result } = (await asGateway(alias(id, 'events/session/job'))).json
    expect(JSON.parse(result.contents[0].text).events).to.have.length(1)
  })

  it('announces updates in the spelling that was subscribed, once for each', async () => {
    const session = await RawSession.open(serve.url)
    const events = await session.listen()
    const uri = alias(serve.instanceId.slice(0, 8), 'scene/current?view=summary')
    await session.call('resources/subscribe', { uri })
    const stream = await listenStateless(serve.url, {
      resourceSubscriptions: [alias(serve.instanceId), 'scene://current'],
    })
    await serve.post('scene', { ...scene, value: 1 })
    await events.until(() => events.updates.length > 0, 'the update')
    await stream.until(() => stream.updates.length === 2, 'the updates')
    expect(events.updates).to.deep.equal([uri])
    expect(stream.updates).to.have.members([alias(serve.instanceId), 'scene://current'])
  })

  it('lets its tools be called with its address, and as the instance that it is', async () => {
    for (const instance of [serve.instanceId.slice(0, 4), 'blender', 'My Blender']) {
      const { content } = await callTool('query_scene', { instance })
      expect(content[0].text, instance).to.include('shot.blend')
    }
    const { content } = await callTool('read_resource', { uri: alias(serve.instanceId) })
    expect(content[0].text).to.include('shot.blend')
    const refused = await callTool('query_scene', { instance: 'maya' })
    expect(refused.content[0].text).to.include('unknown argument "instance"')
  })
})

describe('what a gateway passes on', () => {
  let gateway: GatewayHandle
  let instance: ScriptedInstance
  /** What the instance has not answered. */
  let held: HeldRead[]

  before(async () => (gateway = await startAggregating(registryDir)))
  beforeEach(async () => {
    instance = await startScriptedInstance(registryDir)
    await until(async () => (await read(at(instance))).result !== undefined, 'the instance')
    held = []
  })

  const read = async (uri: string) =>
    (await callStateless(gateway.url, 'resources/read', { uri })).json
  const last = () => instance.asked.at(-1)!
  const reads = () => instance.asked.filter(({ method }) => method === 'resources/read')
  const hold = () => (instance.onRead = one => void held.push(one))
  const untilHeld = (count: number) => until(() => held.length === count, `${count} requests`)
  function answerOne(text: string): void {
    const { res, uri, id } = held.shift()!
    res.end(contentsOf(uri, text, id))
  }
  /** A read whose reader may leave. */
  function reader(uri: string) {
    const left = new AbortController()
    const post = { ...statelessPost('resources/read', { uri }), signal: left.signal }
    const answer = fetch(gateway.url, post).then(
      async res => ((await res.json()) as any).result.contents[0].text as string,
    )
    answer.catch(() => {})
    return { answer, leave: () => left.abort() }
  }

  it('is method and params as they came, in an envelope of its own', async () => {
    const uri = `instance://${instance.instanceId.slice(0, 6).toUpperCase()}/App/a%20b?x=%41&y`
    const args = { uri: `instance://${instance.instanceId}/audit/recent`, max_chars: 77 }
    expect((await read(uri)).result.contents[0].uri).to.equal(uri)
    expect([last().method, last().uri]).to.deep.equal(['resources/read', uri])
    const params = { name: 'read_resource', arguments: args }
    await callStateless(gateway.url, 'tools/call', params, 'the id of the caller')
    const { _meta, ...passed } = last().params
    expect(passed).to.deep.equal(params)
    expect(last().id).to.not.equal('the id of the caller')
    expect(last().headers['service-instance']).to.equal(instance.instanceId)
  })

  it('names the client of the caller, and by whom it asks', async () => {
    const { id } = (await callStateless(gateway.url, 'resources/read', { uri: at(instance) })).json
    expect(id).to.equal(1)
    const key = 'io.modelcontextprotocol/clientInfo'
    expect(last().params._meta[key]).to.deep.equal({
      name: 'test',
      version: '1',
      via: 'service-gateway',
    })
  })

  it('has nothing of the credentials, the session and the metadata of the caller', async () => {
    const session = await RawSession.open(gateway.url, '2025-11-25', {
      Authorization: 'Bearer the-key-of-the-caller',
      Cookie: 'secret=word',
      'X-Own': 'of-the-caller',
    })
    const _meta = { progressToken: 'of-the-caller', other: 'of-the-caller' }
    await session.call('resources/read', { uri: at(instance), _meta })
    const { headers, params } = last()
    expect(headers).to.not.have.any.keys('authorization', 'cookie', 'x-own', 'mcp-session-id')
    expect(JSON.stringify(params)).to.not.include('of-the-caller')
  })

  it('is never a drained read or an answer to a note', async () => {
    const asked = instance.asked.length
    for (const drain of ['drain=true', '%64rain=1', 'drain=', 'cursor=0&drain=%74rue']) {
      const uri = at(instance, `events/session/1?${drain}`)
      expect((await read(uri)).error.message).to.include('never drains')
      const call = { name: 'read_resource', arguments: { uri } }
      const { result } = (await callStateless(gateway.url, 'tools/call', call)).json
      expect(result.content[0].text).to.include('never drains')
    }
    const note = { name: 'answer_note', arguments: { instance: instance.instanceId } }
    const { error } = (await callStateless(gateway.url, 'tools/call', note)).json
    expect(error.message).to.include('unknown tool')
    expect(instance.asked.length).to.equal(asked)
  })

  describe('for equal reads', () => {
    it('is two requests for 50 readers: the one under way, and one for all who come', async () => {
      hold()
      const before = reads().length
      const uri = at(instance, 'app/shared')
      const first = reader(uri)
      await untilHeld(1)
      const others = Array.from({ length: 49 }, () => reader(uri))
      await pendingAt(50)
      answerOne('before')
      expect(await first.answer).to.equal('before')
      await untilHeld(1)
      answerOne('after')
      const texts = await Promise.all(others.map(({ answer }) => answer))
      expect(new Set(texts)).to.deep.equal(new Set(['after']))
      expect(reads().length - before).to.equal(2)
    })

    it('goes on for those who stay, and ends with the last who leaves', async () => {
      hold()
      const uri = at(instance, 'app/left')
      const [first, second] = [reader(uri), reader(uri)]
      await untilHeld(1)
      await pendingAt(2)
      first.leave()
      await pendingAt(1)
      await until(() => held.length === 2 && held[0]!.res.destroyed, 'the request of the other')
      second.leave()
      await until(() => instance.open === 0, 'the end of every request')
      held = []
      const late = reader(uri)
      await untilHeld(1)
      answerOne('there')
      expect(await late.answer).to.equal('there')
    })

    it('is one request for each reader of contents that are too large to be shared', async () => {
      const large = 'x'.repeat(1_000_000)
      instance.onRead = ({ res, uri, id }) => void res.end(contentsOf(uri, large, id))
      const readers = Array.from({ length: 5 }, () => reader(at(instance, 'app/large')))
      const texts = await Promise.all(readers.map(({ answer }) => answer))
      expect(texts.every(text => text === large)).to.equal(true)
      await until(() => instance.open === 0, 'the end of all')
    })
  })

  it('follows all URIs with one stream, which is replaced before the old one ends', async () => {
    const paths = ['app/one', 'app/two', 'app/three']
    const streams = []
    for (const path of paths) {
      streams.push(
        await listenStateless(gateway.url, { resourceSubscriptions: [at(instance, path)] }),
      )
    }
    await until(() => instance.streams === 1, 'one stream')
    const opened = instance.asked.filter(({ method }) => method === 'subscriptions/listen')
    expect(opened.at(-1)?.uris).to.deep.equal(paths.map(path => at(instance, path)))
    expect(instance.gaps).to.equal(0)
    for (const stream of streams) stream.close()
    await until(() => instance.streams === 0, 'no stream')
  })

  it('shows the scenes of instances first in list_resources', async () => {
    const serve = await serveInProcess({ registryDir, flags: ['--dcc-type', 'blender'] })
    await serve.post('scene', scene)
    const first = async () => {
      const call = { name: 'list_resources', arguments: {} }
      const { result } = (await callStateless(gateway.url, 'tools/call', call)).json
      return result.content[0].text.split('\n')[0] as string
    }
    await until(async () => (await first()).includes(at(serve)), 'its scene')
    expect(await first()).to.match(/scene of blender/)
  })

  it('shows the agent, not the gateway, as who looks at an instance', async () => {
    const serve = await serveInProcess({ registryDir, flags: ['--dcc-type', 'maya'] })
    await serve.post('scene', scene)
    await until(async () => (await read(at(serve))).result !== undefined, 'the instance')
    const stream = await listenStateless(gateway.url, { resourceSubscriptions: [at(serve)] })
    const { contents } = (
      await callStateless(serve.url, 'resources/read', { uri: 'server://clients' })
    ).json.result
    const { clients } = JSON.parse(contents[0].text)
    const through = clients.find(({ via }: any) => via === 'service-gateway')
    expect(through).to.deep.include({ name: 'test', version: '1' })
    expect(clients.map(({ name }: any) => name)).to.not.include('service-gateway')
    stream.close()
    expect(through.last_read.uri).to.equal('scene://current')
  })

  /** The gateway has so many calls that are not answered. */
  async function pendingAt(count: number): Promise<void> {
    const origin = new URL(gateway.url).origin
    await until(async () => {
      const text = await (await fetch(`${origin}/metrics`)).text()
      return Number(/^service_cli_pending_calls (\d+)$/m.exec(text)?.[1]) === count
    }, `${count} pending calls`)
  }
})
