import { expect } from 'chai'
import { request } from 'node:http'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { openPolicy } from '../../../src/server/http/authentication.ts'
import {
  ask,
  type Events,
  initializeBody,
  postHeaders,
  RawSession,
  startServer,
  type TestServer,
} from '../../helpers/mcp.ts'
import { listenStateless } from '../../helpers/stateless.ts'

const uri = 'test://shown'
/** Sessions and listen streams that the server takes. */
const most = 40

describe('delivery to streams', () => {
  let running: TestServer
  const open: Events[] = []
  const sessions: RawSession[] = []

  before(async () => {
    const limits = { maxSessions: most }
    running = await startServer({ limits }, {}, server =>
      server.resources().addProducer({ scheme: 'test', list: () => [], read: () => [] }),
    )
  })
  afterEach(async () => {
    for (const events of open.splice(0)) events.close()
    for (const session of sessions.splice(0)) await session.delete()
  })
  after(() => running.stop())

  async function openSession(): Promise<Events> {
    const session = await RawSession.open(running.url)
    sessions.push(session)
    await session.call('resources/subscribe', { uri })
    const events = await session.listen()
    open.push(events)
    return events
  }
  async function openStream(id: unknown): Promise<Events> {
    const events = await listenStateless(running.url, { resourceSubscriptions: [uri] }, id)
    open.push(events)
    return events
  }

  it('tells subscribers of both transports each update in their shape, serialised once', async () => {
    // Texts and numbers in turn: clients count, each in its own way.
    const idOf = (n: number) => (n % 2 === 0 ? n : `listen-${n}`)
    const inSessions: Events[] = []
    const stateless: Events[] = []
    for (let n = 0; n < 20; n++) {
      inSessions.push(await openSession())
      stateless.push(await openStream(idOf(n)))
    }
    const stringify = JSON.stringify
    let serialised = 0
    JSON.stringify = ((...args: Parameters<typeof stringify>) => {
      serialised++
      return stringify(...args)
    }) as typeof stringify
    try {
      for (let n = 0; n < 2; n++) running.server.resources().notifyUpdated(uri)
      expect(serialised).to.equal(2)
    } finally {
      JSON.stringify = stringify
    }
    for (let n = 3; n <= 10; n++) {
      running.server.resources().notifyUpdated(uri)
      const all = [...inSessions, ...stateless]
      await Promise.all(all.map(events => events.until(() => events.updates.length === n)))
    }
    const update = { jsonrpc: '2.0', method: 'notifications/resources/updated' }
    for (const { messages } of inSessions) {
      expect(messages).to.deep.equal(Array(10).fill({ ...update, params: { uri } }))
    }
    for (const [n, { messages }] of stateless.entries()) {
      const _meta = { 'io.modelcontextprotocol/subscriptionId': idOf(n) }
      expect(messages.slice(1)).to.deep.equal(Array(10).fill({ ...update, params: { uri, _meta } }))
    }
  })

  it('leaves room for one transport when the other holds as many clients as it may', async () => {
    for (let n = 0; n < most; n++) await openStream(n)
    const refusal = await openStream('more').catch((error: unknown) => String(error))
    expect(refusal).to.match(/as many streams as it may/)
    while (sessions.length < most) await openSession()
    const init = { method: 'POST', headers: postHeaders, body: initializeBody() }
    const refused = await ask(running.url, init)
    expect(refused.status).to.equal(503)
    expect(refused.headers['retry-after']).to.match(/^\d+$/)
    running.server.resources().notifyUpdated(uri)
    await Promise.all(open.map(events => events.until(() => events.updates.length === 1)))
    await sessions.pop()?.delete()
    expect((await ask(running.url, init)).status).to.equal(200)
  })
})

describe('a client that leaves while the decision about it is pending', () => {
  it('leaves no stream behind', async () => {
    const asked = Promise.withResolvers<void>()
    const decided = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    let isSlow = false
    const authenticate = async () => {
      if (isSlow) {
        isSlow = false
        asked.resolve()
        await decided.promise
      }
      return openPolicy.authenticate({ headers: {}, peer: '127.0.0.1' })
    }
    const accessLog = ({ method }: AccessEntry) => void (method === 'GET' && gone.resolve())
    const limits = { maxSessions: 1 }
    const running = await startServer({ limits }, { auth: { authenticate }, accessLog })
    try {
      const session = await RawSession.open(running.url)
      isSlow = true
      const headers = { ...session.headers, Accept: 'text/event-stream' }
      const left = request(running.url, { headers })
      left.on('error', () => {}).end()
      await asked.promise
      left.destroy()
      await gone.promise
      decided.resolve()
      const init = { method: 'POST', headers: postHeaders, body: initializeBody() }
      expect((await ask(running.url, init)).status, 'the idle session makes room').to.equal(200)
    } finally {
      await running.stop()
    }
  })
})
