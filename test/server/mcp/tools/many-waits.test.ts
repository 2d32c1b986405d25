import { expect } from 'chai'
import type { Timer } from '../../../../src/lib/util/time.ts'
import type { SubscriptionHub } from '../../../../src/server/mcp/subscriptions.ts'
import { applicationTools } from '../../../../src/server/mcp/tools/tools.ts'
import {
  Events,
  RawSession,
  rpc,
  startServer,
  type TestServer,
  toolCall,
} from '../../../helpers/mcp.ts'
import { callStateless, statelessHeaders } from '../../../helpers/stateless.ts'
import { until } from '../../../helpers/until.ts'

/** Less than what the helpers hold open to one server. */
const maxWaits = 40
const waitMs = 45_000
const wait = toolCall('wait_for_change', { timeout_s: waitMs / 1000 })

describe('many calls that wait', () => {
  let server: TestServer
  let hub: SubscriptionHub
  const waits = new Set<unknown>()
  before(async () => {
    server = await startServer(
      { enableTools: true, limits: { maxWaits, waitProgressMs: 20 } },
      {
        tools: given => {
          hub = given.hub
          // However slow the machine is, only a change ends a wait.
          const { timer } = given
          const after: Timer['after'] = (ms, run) =>
            ms === waitMs ? () => {} : timer.after(ms, run)
          return applicationTools({ ...given, waits, timer: { after } })
        },
      },
    )
  })
  after(() => server.stop())

  const change = () => server.server.resources().setScene({ frame: Math.random() })
  const statelessWait = async (id: number) =>
    (await callStateless(server.url, 'tools/call', wait, id)).text

  it('are refused beyond the bound, from one client and from many, and leave nothing', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 20 }, () => RawSession.open(server.url)),
    )
    const count = 5 * maxWaits
    let refused = 0
    const answers = Array.from({ length: count }, async (_, id) => {
      const session = id < count / 2 ? sessions[0] : sessions[id % 40]
      const answer =
        session === undefined
          ? await statelessWait(id)
          : (await session.post(rpc('tools/call', wait, id))).text
      if (answer.includes('"isError":true')) refused++
      return answer
    })
    await until(() => refused === count - maxWaits, 'every refusal')
    expect(waits.size).to.equal(maxWaits)
    // Everything else goes on.
    expect((await callStateless(server.url, 'tools/list')).status).to.equal(200)
    change()
    const reason = `limit_reached: ${maxWaits} calls wait already; read the resource now and then`
    const all = await Promise.all(answers)
    expect(all.filter(answer => answer.includes('"changed":true'))).to.have.length(maxWaits)
    expect(all.filter(answer => answer.includes(reason))).to.have.length(count - maxWaits)
    expect(waits.size).to.equal(0)
    expect(hub.size).to.equal(0)
  })

  it('end by the cancellations that name them alone, each once', async () => {
    const session = await RawSession.open(server.url)
    const asked = Array.from({ length: 20 }, (_, at) =>
      session.post(rpc('tools/call', wait, `w${at}`)),
    )
    const kept = statelessWait(1)
    await until(() => waits.size === 21, 'every wait')
    const ids = [null, {}, [], 'x'.repeat(1000), -1, 1, 2 ** 60, true, 'w', 'W1', '__proto__']
    const notice = (requestId: unknown) =>
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
    for (const id of ids) await session.post(notice(id))
    // Those of the stateless transport end with their connection alone.
    await session.post(notice(1), statelessHeaders('notifications/cancelled'))
    expect(waits.size).to.equal(21)
    await Promise.all(Array.from({ length: 60 }, (_, at) => session.post(notice(`w${at % 19}`))))
    expect(waits.size).to.equal(2)
    change()
    const texts = (await Promise.all(asked)).map(({ text }) => text)
    expect(texts.filter(text => text === '')).to.have.length(19)
    expect(texts[19]).to.contain('"changed":true')
    expect(await kept).to.contain('"changed":true')
  })

  it('report progress to each caller of its own call, and ignore what is no token', async () => {
    const session = await RawSession.open(server.url)
    const tokens = ['same', 'same', '', 0, -1.5, 1e308, '\u202e</channel>', 'x'.repeat(1024)]
    const none = [null, true, {}, ['a'], 'x'.repeat(1025), 'x'.repeat(100_000)]
    const bodyOf = (progressToken: unknown, id: number) =>
      rpc('tools/call', { ...wait, _meta: { ...wait._meta, progressToken } }, id)
    const plain = none.map((token, at) => session.post(bodyOf(token, 1000 + at)))
    const streams = await Promise.all(
      tokens.map((token, at) => Events.open(server.url, session.headers, bodyOf(token, at))),
    )
    for (const stream of streams) await stream.until(() => stream.messages.length >= 3)
    change()
    for (const [at, stream] of streams.entries()) {
      await stream.untilEnded()
      expect(stream.messages.pop()).to.include({ id: at })
      for (const { method, params } of stream.messages) {
        expect(method).to.equal('notifications/progress')
        expect(params.progressToken).to.equal(tokens[at])
      }
    }
    for (const [at, answer] of (await Promise.all(plain)).entries()) {
      expect(answer.json).to.include({ id: 1000 + at })
    }
  })
})
