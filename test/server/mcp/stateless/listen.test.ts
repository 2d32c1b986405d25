import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AccessEntry } from '../../../../src/lib/util/logger.ts'
import { McpHttpServer } from '../../../../src/server/mcp/mcp-http-server.ts'
import { AuditLog } from '../../../../src/server/resources/audit-log.ts'
import { SessionEventBuffer } from '../../../../src/server/resources/session-event-buffer.ts'
import { type Events, startServer, type TestServer } from '../../../helpers/mcp.ts'
import { until } from '../../../helpers/until.ts'
import { callStateless, listenStateless } from '../../../helpers/stateless.ts'

const subscriptionId = 'io.modelcontextprotocol/subscriptionId'
const scene = 'scene://current'
const limits = {
  listChangedIntervalMs: 1,
  maxListenStreams: 4,
  maxSubscriptionsPerSession: 3,
  maxSubscriptions: 5,
  streamKeepAliveMs: 150,
}

describe('a listen stream', () => {
  let running: TestServer
  let log: AuditLog
  let entries: AccessEntry[]
  const open: Events[] = []

  beforeEach(async () => {
    log = new AuditLog()
    entries = []
    const accessLog = (entry: AccessEntry) => void entries.push(entry)
    running = await startServer({ limits }, { accessLog }, server => {
      server.resources().addProducer({ scheme: 'test', list: () => [], read: () => [] })
      server.resources().wireAuditLog(log)
    })
  })
  afterEach(async () => {
    for (const events of open.splice(0)) events.close()
    await running.stop()
  })

  async function listen(notifications: unknown, id: unknown = 1): Promise<Events> {
    const events = await listenStateless(running.url, notifications, id)
    open.push(events)
    return events
  }
  const refused = async (notifications: unknown, id: unknown = 1) => {
    const params = { notifications }
    const { status, headers, json } = await callStateless(
      running.url,
      'subscriptions/listen',
      params,
      id,
    )
    expect(headers['content-type']).to.equal('application/json')
    expect([status, json.id]).to.deep.equal([200, id])
    return json.error
  }

  const isTaken = (notifications: unknown) =>
    listen(notifications).then(
      () => true,
      () => false,
    )

  const filters: [asked: object, honoured: object][] = [
    [{}, {}],
    [{ toolsListChanged: true, promptsListChanged: true }, {}],
    [{ resourcesListChanged: true }, { resourcesListChanged: true }],
    [{ resourcesListChanged: false, somethingNew: 7 }, {}],
    [{ resourceSubscriptions: [] }, { resourceSubscriptions: [] }],
    [
      { toolsListChanged: false, resourcesListChanged: true, resourceSubscriptions: [scene] },
      { resourcesListChanged: true, resourceSubscriptions: [scene] },
    ],
    [
      { resourceSubscriptions: [scene, 'audit://recent?limit=1', scene] },
      { resourceSubscriptions: [scene, 'audit://recent?limit=1'] },
    ],
    // Read by polling: no update of them ever comes.
    [{ resourceSubscriptions: ['events://session/a', scene] }, { resourceSubscriptions: [scene] }],
    [{ resourceSubscriptions: ['events://session/a'] }, { resourceSubscriptions: [] }],
  ]
  for (const [asked, honoured] of filters) {
    it(`acknowledges ${JSON.stringify(honoured)} of ${JSON.stringify(asked)}, and stays`, async () => {
      const events = await listen(asked, 'my id')
      expect(events.messages).to.deep.equal([
        {
          jsonrpc: '2.0',
          method: 'notifications/subscriptions/acknowledged',
          params: { _meta: { [subscriptionId]: 'my id' }, notifications: honoured },
        },
      ])
      const { headers } = events.response
      expect(headers).to.include({
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      })
      expect(headers).not.to.have.property('mcp-session-id')
      expect(events.ended).to.equal(false)
    })
  }

  for (const id of ['text', '', '7', 0, -7, 2 ** 53 - 1, 'ä"\\\n\u2028']) {
    it(`carries the id ${JSON.stringify(id)} in everything it says`, async () => {
      const wanted = { resourceSubscriptions: ['test://%C3%A4?a=1'], resourcesListChanged: true }
      const events = await listen(wanted, id)
      running.server.resources().notifyUpdated('test://%C3%A4')
      await events.until(() => events.messages.length === 2)
      const buffer = new SessionEventBuffer({ sessionId: 'job' })
      running.server.resources().registerSessionEventBuffer(buffer)
      await events.until(() => events.messages.length === 3)
      running.server.resources().removeSessionEventBuffer(buffer)
      await events.until(() => events.messages.length === 4)
      const _meta = { [subscriptionId]: id }
      expect(events.messages.slice(1, 3)).to.deep.equal([
        {
          jsonrpc: '2.0',
          method: 'notifications/resources/updated',
          params: { uri: 'test://%C3%A4?a=1', _meta },
        },
        { jsonrpc: '2.0', method: 'notifications/resources/list_changed', params: { _meta } },
      ])
    })
  }

  it('is told of each record, under every query it listens with, and of nothing else', async () => {
    const uris = ['audit://recent?limit=1', 'AUDIT://recent']
    const events = await listen({ resourceSubscriptions: uris })
    running.server.resources().setScene({})
    log.record({ action: 'one' })
    await events.until(() => events.updates.length === 2)
    expect(events.updates).to.have.members(uris)
    expect(events.messages).to.have.length(3)
  })

  it('is told of no changed list unless it asked', async () => {
    const deaf = await listen({ resourceSubscriptions: [scene] })
    const hearing = await listen({ resourcesListChanged: true })
    const buffer = new SessionEventBuffer({ sessionId: 'new' })
    running.server.resources().registerSessionEventBuffer(buffer)
    await hearing.until(() => hearing.messages.length === 2)
    running.server.resources().setScene({})
    await deaf.until(() => deaf.messages.length === 2)
    expect(deaf.updates).to.deep.equal([scene])
    running.server.resources().removeSessionEventBuffer(buffer)
  })

  it('is one of several of a client, each with its own', async () => {
    const first = await listen({ resourceSubscriptions: ['test://a'] }, 1)
    const second = await listen({ resourceSubscriptions: ['test://b', 'test://a'] }, 1)
    running.server.resources().notifyUpdated('test://b')
    running.server.resources().notifyUpdated('test://a')
    await second.until(() => second.updates.length === 2)
    await first.until(() => first.updates.length === 1)
    expect(first.updates).to.deep.equal(['test://a'])
    expect(second.updates).to.deep.equal(['test://b', 'test://a'])
  })

  const bad: [title: string, notifications: unknown, code: number, data: object][] = [
    ['no filter', undefined, -32602, {}],
    ['a filter that is an array', [], -32602, {}],
    ['a filter that is a text', 'x', -32602, {}],
    ['a switch that is a text', { resourcesListChanged: 'yes' }, -32602, {}],
    ['a switch of another kind that is null', { toolsListChanged: null }, -32602, {}],
    ['URIs that are one text', { resourceSubscriptions: scene }, -32602, {}],
    ['a URI that is a number', { resourceSubscriptions: [scene, 7] }, -32602, {}],
    ['a malformed URI', { resourceSubscriptions: [scene, 'no uri'] }, -32602, {}],
    [
      'a URI over 2048 characters',
      { resourceSubscriptions: [`test://${'x'.repeat(2048)}`] },
      -32602,
      {},
    ],
    ['an unknown scheme', { resourceSubscriptions: [scene, 'no://x'] }, -32602, { uri: 'no://x' }],
    [
      'a scheme that is switched off',
      { resourceSubscriptions: [`artefact://sha256/${'0'.repeat(64)}`] },
      -32602,
      { uri: `artefact://sha256/${'0'.repeat(64)}` },
    ],
    [
      'more URIs than one stream may have',
      { resourceSubscriptions: [1, 2, 3, 4].map(n => `test://${n}`) },
      -32603,
      { reason: 'subscription_limit' },
    ],
    [
      'more URIs than one stream may have, though no update of them ever comes',
      { resourceSubscriptions: [1, 2, 3, 4].map(n => `events://session/${n}`) },
      -32603,
      { reason: 'subscription_limit' },
    ],
  ]
  for (const [title, notifications, code, data] of bad) {
    it(`answers ${code} as JSON to ${title}, and keeps nothing`, async () => {
      const error = await refused(notifications, 'x')
      expect(error.code).to.equal(code)
      expect(error.data ?? {}).to.include(data)
      // All that the server has room for.
      await listen({ resourceSubscriptions: ['test://1', 'test://2', 'test://3'] })
      await listen({ resourceSubscriptions: ['test://1', 'test://2'] })
    })
  }

  it('needs an id of which it can send copies', async () => {
    const id = 'x'.repeat(256)
    expect((await listen({}, id)).messages[0].params._meta[subscriptionId]).to.equal(id)
    expect((await refused({}, `${id}x`)).code).to.equal(-32602)
  })

  it('is refused beyond the number of streams, until one is closed', async () => {
    const first = await listen({})
    for (let n = 1; n < 4; n++) await listen({})
    const error = await refused({})
    expect([error.code, error.data.reason]).to.deep.equal([-32603, 'listen_limit'])
    first.close()
    await until(() => isTaken({}), 'room for a stream')
  })

  it('is refused beyond the subscriptions of the server, and then holds none', async () => {
    const all = { resourceSubscriptions: ['test://1', 'test://2', 'test://3'] }
    const first = await listen(all)
    const error = await refused(all)
    expect([error.code, error.data.reason]).to.deep.equal([-32603, 'subscription_limit'])
    await listen({ resourceSubscriptions: ['test://1', 'test://2'] })
    first.close()
    await until(() => isTaken(all), 'room for subscriptions')
  })

  it('gets a comment now and then', async () => {
    const events = await listen({})
    let text = ''
    events.response.on('data', (part: string) => (text += part))
    await until(() => text.includes(':\n\n'), 'a comment')
  })

  it('is in the access log by its method, once it is over', async () => {
    const events = await listen({})
    expect(entries).to.have.length(0)
    events.close()
    await until(() => entries.length === 1, 'the entry')
    expect(entries[0]).to.include({ method: 'POST', rpc: 'subscriptions/listen', status: 200 })
  })

  it('ends with its result when the server stops', async () => {
    const stopping = await startServer()
    const one = await listenStateless(stopping.url, { resourceSubscriptions: [scene] }, 'one')
    const other = await listenStateless(stopping.url, {}, 2)
    await Promise.all([stopping.stop(), one.untilEnded(), other.untilEnded()])
    for (const [events, id] of [
      [one, 'one'],
      [other, 2],
    ] as const) {
      const { _meta, ...result } = events.messages.at(-1).result
      expect(events.messages.at(-1)).to.include({ jsonrpc: '2.0', id })
      expect(result).to.deep.equal({ resultType: 'complete' })
      expect(_meta[subscriptionId]).to.equal(id)
      expect(_meta['io.modelcontextprotocol/serverInfo'].name).to.equal('service-cli')
      expect(events.response.complete).to.equal(true)
    }
  })

  it('is refused by a server that has stopped, inside a host that goes on', async () => {
    const embedded = new McpHttpServer()
    const http = createServer(embedded.requestListener()).listen(0, '127.0.0.1')
    await once(http, 'listening')
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
    try {
      const before = await listenStateless(url, {})
      await Promise.all([embedded.stop(), before.untilEnded()])
      const after = await listenStateless(url, {}).then(
        stream => stream.close(),
        (error: Error) => error.message,
      )
      expect(after).to.match(/"code":-32603.*"data":\{"reason":"server_stopping"\}/)
    } finally {
      http.closeAllConnections()
      http.close()
    }
  })

  it('does not exist where resources are off', async () => {
    const bare = await startServer({ enableResources: false })
    try {
      const { status, json } = await callStateless(bare.url, 'subscriptions/listen', {
        notifications: {},
      })
      expect([status, json.error.code]).to.deep.equal([404, -32601])
    } finally {
      await bare.stop()
    }
  })
})
