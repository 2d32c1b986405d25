import { expect } from 'chai'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { applicationTools } from '../../../../src/server/mcp/tools/tools.ts'
import type { Timer } from '../../../../src/lib/util/time.ts'
import type { SubscriptionHub } from '../../../../src/server/mcp/subscriptions.ts'
import {
  Events,
  RawSession,
  rpc,
  startServer,
  type TestServer,
  toolCall,
} from '../../../helpers/mcp.ts'
import { callStateless, statelessHeaders, statelessRequest } from '../../../helpers/stateless.ts'

const MiB = 1024 * 1024
const flood = 2000
const maxWaits = 100
const waitMs = 45_000
const wait = toolCall('wait_for_change', { timeout_s: waitMs / 1000 })

describe('a flood of calls that wait', function () {
  this.timeout(120_000)
  let server: TestServer
  let parts: { readonly hub: SubscriptionHub; readonly waits: ReadonlySet<unknown> }
  let agent: Agent
  before(async () => {
    server = await startServer(
      { enableTools: true, limits: { maxWaits, waitProgressMs: 20 } },
      {
        tools: given => {
          parts = given as unknown as typeof parts
          // However slow the machine is, only a change ends a wait.
          const { timer } = given
          const after: Timer['after'] = (ms, run) =>
            ms === waitMs ? () => {} : timer.after(ms, run)
          return applicationTools({ ...given, timer: { after } })
        },
      },
    )
  })
  beforeEach(() => {
    agent = new Agent({ keepAlive: true, maxSockets: 2 * maxWaits })
  })
  afterEach(() => agent.destroy())
  after(() => server.stop())

  const post = (headers: Record<string, string>, body: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const req = request(server.url, { method: 'POST', headers, agent })
      req.on('error', reject)
      req.on('response', (res: IncomingMessage) => text(res).then(resolve, reject))
      req.end(body)
    })

  const statelessWait = (id: number) =>
    post(
      statelessHeaders('tools/call', wait),
      JSON.stringify(statelessRequest('tools/call', wait, id)),
    )

  /** Sends so many, and answers those that wait with a change once all others are refused. */
  async function run(count: number, call: (id: number) => Promise<string>): Promise<void> {
    const waiting = Math.min(count, maxWaits)
    const refused: string[] = []
    const allRefused = Promise.withResolvers<void>()
    const answers = Array.from({ length: count }, async (_, id) => {
      const answer = await call(id)
      if (!answer.includes('"isError":true')) return answer
      if (refused.push(answer) === count - waiting) allRefused.resolve()
      return null
    })
    await Promise.race([allRefused.promise, Promise.all(answers)])
    expect(parts.waits.size).to.equal(waiting)
    // Everything else goes on.
    expect((await callStateless(server.url, 'tools/list')).status).to.equal(200)
    server.server.resources().setScene({ frame: Math.random() })
    const changed = (await Promise.all(answers)).filter(answer => answer !== null)
    expect(changed).to.have.length(waiting)
    for (const answer of changed) expect(answer).to.contain('"changed":true')
    const reason = `limit_reached: ${maxWaits} calls wait already; read the resource now and then`
    for (const answer of refused) expect(answer).to.contain(reason)
    expect(parts.waits.size).to.equal(0)
    expect(parts.hub.size).to.deep.equal({ subscriptions: 0, subscribers: 0 })
  }

  it('is refused beyond the bound, from one client and from many, and leaves no memory', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const sessions = await Promise.all(
      Array.from({ length: 20 }, () => RawSession.open(server.url)),
    )
    const sessionWait = ({ headers }: RawSession, id: number) =>
      post(headers, rpc('tools/call', wait, id))
    const heapAfter = async (count: number) => {
      await run(count, id => {
        if (id < count / 2) return sessionWait(sessions[0]!, id)
        const other = sessions[id % 40]
        return other === undefined ? statelessWait(id) : sessionWait(other, id)
      })
      agent.destroy()
      await new Promise(setImmediate)
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = await heapAfter(flood)
    expect((await heapAfter(flood)) - before).to.be.below(MiB)
  })

  it('of cancellations ends the named calls alone, each once', async () => {
    const session = await RawSession.open(server.url)
    const waits = Array.from({ length: 50 }, (_, at) =>
      post(session.headers, rpc('tools/call', wait, `w${at}`)),
    )
    const kept = statelessWait(1)
    while (parts.waits.size < 51) await new Promise(setImmediate)
    const ids = [null, {}, [], 'x'.repeat(1000), -1, 1, 2 ** 60, true, 'w', 'W1', '__proto__']
    const notice = (requestId: unknown) =>
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
    const cancel = (id: unknown) => post(session.headers, notice(id))
    await Promise.all(Array.from({ length: 1000 }, (_, at) => cancel(ids[at % ids.length])))
    expect(parts.waits.size).to.equal(51)
    // Those of the stateless transport end with their connection alone.
    await post(statelessHeaders('notifications/cancelled'), notice(1))
    const named = Array.from({ length: 200 }, (_, at) => cancel(`w${at % 49}`))
    await Promise.all(named)
    expect(parts.waits.size).to.equal(2)
    server.server.resources().setScene({ frame: Math.random() })
    const answers = await Promise.all(waits)
    expect(answers.filter(answer => answer === '')).to.have.length(49)
    expect(answers[49]).to.contain('"changed":true')
    expect(await kept).to.contain('"changed":true')
  })

  it('of progress tokens tells each caller of its own call, and ignores a value that is no token', async () => {
    const session = await RawSession.open(server.url)
    const tokens = ['same', 'same', '', 0, -1.5, 1e308, '\u202e</channel>', 'x'.repeat(1024)]
    const none = [null, true, {}, ['a'], 'x'.repeat(1025), 'x'.repeat(100_000)]
    const bodyOf = (progressToken: unknown, id: number) =>
      rpc('tools/call', { ...wait, _meta: { ...wait._meta, progressToken } }, id)
    const plain = none.map((token, at) => post(session.headers, bodyOf(token, 1000 + at)))
    const streams = await Promise.all(
      Array.from({ length: 64 }, (_, at) =>
        Events.open(server.url, session.headers, bodyOf(tokens[at % tokens.length], at)),
      ),
    )
    for (const stream of streams) await stream.until(() => stream.messages.length >= 3)
    server.server.resources().setScene({ frame: Math.random() })
    for (const [at, stream] of streams.entries()) {
      await stream.untilEnded()
      const answer = stream.messages.pop()
      expect(answer).to.include({ id: at })
      for (const { method, params } of stream.messages) {
        expect(method).to.equal('notifications/progress')
        expect(params.progressToken).to.equal(tokens[at % tokens.length])
      }
    }
    for (const [at, answer] of (await Promise.all(plain)).entries()) {
      expect(JSON.parse(answer)).to.include({ id: 1000 + at })
    }
  })
})
