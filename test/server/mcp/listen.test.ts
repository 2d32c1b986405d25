import { expect } from 'chai'
import { createServer } from 'node:http'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { McpHttpServer } from '../../../src/server/mcp-http-server.ts'
import { AuditLog } from '../../../src/server/resources/audit-log.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { type Events, startServer, type TestServer } from '../../helpers/mcp.ts'
import { callStateless, listenStateless } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { listening } from '../../helpers/listening.ts'

const subscriptionId = 'io.modelcontextprotocol/subscriptionId'
const scene = 'scene://current'
const limits = { maxSessions: 4, maxSubscriptions: 5 }

describe('a listen stream', () => {
  let running: TestServer
  let entries: AccessEntry[]
  const open: Events[] = []

  before(async () => {
    const accessLog = (entry: AccessEntry) => void entries.push(entry)
    running = await startServer({ limits }, { accessLog }, server => {
      server.resources().addProducer({ scheme: 'test', list: () => [], read: () => [] })
      server.resources().wireAuditLog(new AuditLog())
    })
  })
  beforeEach(() => (entries = []))
  afterEach(async () => {
    const streams = open.splice(0)
    for (const events of streams) events.close()
    const ended = () => entries.filter(({ rpc }) => rpc === 'subscriptions/listen').length
    await until(() => ended() >= streams.length, 'the end of every stream')
  })

  async function listen(notifications: unknown, id: unknown = 1): Promise<Events> {
    const events = await listenStateless(running.url, notifications, id)
    open.push(events)
    return events
  }
  const refused = async (notifications: unknown, id: unknown = 1) => {
    const method = 'subscriptions/listen'
    const answer = await callStateless(running.url, method, { notifications }, id)
    expect(answer.headers['content-type']).to.equal('application/json')
    expect([answer.status, answer.json.id]).to.deep.equal([200, id])
    return answer.json.error
  }
  const isTaken = (notifications: unknown) =>
    listen(notifications).then(
      () => true,
      () => false,
    )

  const filters: [asked: object, honoured: object][] = [
    [{ toolsListChanged: true, resourcesListChanged: false, somethingNew: 7 }, {}],
    [
      { resourcesListChanged: true, resourceSubscriptions: [scene, 'audit://recent', scene] },
      { resourcesListChanged: true, resourceSubscriptions: [scene, 'audit://recent'] },
    ],
    // Read by polling: no update of them ever comes.
    [{ resourceSubscriptions: ['events://session/a', scene] }, { resourceSubscriptions: [scene] }],
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

  it('carries its id in everything it says', async () => {
    const id = 'ä"\\\n\u2028'
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

  const disabled = `artefact://sha256/${'0'.repeat(64)}`
  const many = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, n) => `${prefix}${n}`)
  const bad: [title: string, uris: string[], code: number, data: object][] = [
    ['a scheme that is switched off', [disabled], -32602, { uri: disabled }],
    ['too many URIs', many('test://', 6), -32603, { reason: 'subscription_limit' }],
    [
      'too many URIs that never change',
      many('events://session/', 1001),
      -32603,
      { reason: 'subscription_limit' },
    ],
  ]
  for (const [title, resourceSubscriptions, code, data] of bad) {
    it(`answers ${code} as JSON to ${title}, and keeps nothing`, async () => {
      const error = await refused({ resourceSubscriptions }, 'x')
      expect(error.code).to.equal(code)
      expect(error.data).to.include(data)
      // All that the server has room for.
      await listen({ resourceSubscriptions: ['test://1', 'test://2', 'test://3'] })
      await listen({ resourceSubscriptions: ['test://1', 'test://2'] })
    })
  }

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

  it('ends with its result when the server stops, and is refused afterwards', async () => {
    const embedded = new McpHttpServer()
    const http = createServer(embedded.requestListener())
    const url = `http://127.0.0.1:${await listening(http)}/mcp`
    const one = await listenStateless(url, { resourceSubscriptions: [scene] }, 'one')
    const other = await listenStateless(url, {}, 2)
    await Promise.all([embedded.stop(), one.untilEnded(), other.untilEnded()])
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
    const refusal = await listenStateless(url, {}).catch((error: Error) => error.message)
    expect(refusal).to.match(/"code":-32603.*"data":\{"reason":"server_stopping"\}/)
  })
})
