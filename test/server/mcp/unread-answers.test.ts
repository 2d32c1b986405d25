import { expect } from 'chai'
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { McpHttpServer } from '../../../src/server/mcp-http-server.ts'
import { RawSession, rpc, startServer, type TestServer } from '../../helpers/mcp.ts'
import { callStateless, statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { listening } from '../../helpers/listening.ts'
import { atEnd } from '../../helpers/cleanup.ts'

const chars = 200_000

interface Asked {
  readonly headers: Record<string, string>
  readonly body: string
}

const textOf = ({ headers, body }: Asked) => {
  const all = { Host: 'localhost', ...headers, 'Content-Length': body.length }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

const statelessOf = (method: string, params: Record<string, unknown>, id = 1) => ({
  headers: statelessHeaders(method, params),
  body: JSON.stringify({ ...statelessRequest(method, params), id }),
})

describe('an answer that is not taken', () => {
  it('is cut when it is large and stands still, also inside a server of the host', async () => {
    const cut = Promise.withResolvers<void>()
    const accessLog = ({ rpc }: AccessEntry) => void (rpc === 'resources/read' && cut.resolve())
    const limits = { streamStallMs: 200, streamKeepAliveMs: 100 }
    const server = new McpHttpServer({}, { limits, accessLog })
    server.resources().setScene({ big: 'x'.repeat(7_000_000) })
    atEnd(() => server.stop())
    const host = createServer(server.requestListener())
    const socket = connect(await listening(host), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(textOf(statelessOf('resources/read', { uri: 'scene://current' })))
    await once(socket, 'readable')
    await cut.promise
  })
})

describe('a request that stays open', () => {
  const count = 20
  const padding = 'x'.repeat(300_000)
  const wait = { name: 'wait_for_change', arguments: {}, padding }
  const listen = { notifications: { resourceSubscriptions: ['scene://current'] }, uri: padding }
  let running: TestServer
  let agent: Agent
  /** Requests that wait for a change. */
  let waiting = 0

  before(async () => {
    running = await startServer({ enableTools: true })
    const resources = running.server.resources()
    const assertSubscribable = resources.assertSubscribable.bind(resources)
    resources.assertSubscribable = uri => {
      waiting++
      return assertSubscribable(uri)
    }
  })
  beforeEach(() => {
    waiting = 0
    agent = new Agent()
    atEnd(() => agent.destroy())
  })

  const open: [what: string, open: () => Promise<Asked>][] = [
    [
      'a call that waits in a session',
      async () => {
        const { headers } = await RawSession.open(running.url)
        return { headers, body: rpc('tools/call', wait) }
      },
    ],
    ['a stream of 2026-07-28', async () => statelessOf('subscriptions/listen', listen)],
  ]
  for (const [what, ask] of open) {
    it(`keeps no body of ${what}`, async () => {
      const { headers, body } = await ask()
      const bytes = Buffer.from(body)
      const before = await bytesInUse()
      for (let opened = 0; opened < count; opened++) {
        const open = request(running.url, { method: 'POST', headers, agent })
        open.on('error', () => {}).end(bytes)
      }
      await until(() => waiting >= count, 'open requests')
      expect((await bytesInUse()) - before).to.be.lessThan(count * 100_000)
    })
  }
})

describe('calls that a client sends at once without reading answers', () => {
  it('run when their answers can be sent, and are answered in their order', async () => {
    const count = 60
    const params = { name: 'read_resource', arguments: { uri: 'app://large', max_chars: chars } }
    let reads = 0
    const read = (uri: string) => [{ uri, text: `${++reads}`.padEnd(chars) }]
    const { url } = await startServer({ enableTools: true }, {}, server =>
      server.resources().addProducer({ scheme: 'app', list: () => [], read }),
    )
    const client = connect(Number(new URL(url).port), '127.0.0.1')
    atEnd(() => client.destroy())
    const ids = Array.from({ length: count }, (_, at) => at)
    client.write(ids.map(id => textOf(statelessOf('tools/call', params, id))).join(''))
    // Both what came and what the system takes for a client that does not read is done by then.
    for (let round = 0; round < count; round++) await callStateless(url, 'ping')
    expect(reads).to.be.within(1, count / 2)
    let text = ''
    client.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk.replaceAll(/ {2,}/g, ' ')
    })
    await until(() => text.includes(`"id":${count - 1},`), 'the last answer')
    const answered = Array.from(text.matchAll(/"jsonrpc":"2.0","id":(\d+),/g), ([, id]) => id)
    expect(answered.map(Number)).to.deep.equal(ids)
  })
})

/** After collections: what is left is held by somebody. */
async function bytesInUse(): Promise<number> {
  setFlagsFromString('--expose-gc')
  for (let round = 0; round < 2; round++) {
    runInNewContext('gc')()
    await nextTurn()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
