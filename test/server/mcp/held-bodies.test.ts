import { expect } from 'chai'
import { Agent, request } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { until } from '../../helpers/until.ts'
import { RawSession, rpc, startServer } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'

const count = 20
const padding = 'x'.repeat(300_000)
const wait = { name: 'wait_for_change', arguments: {}, padding }
const listen = { notifications: { resourceSubscriptions: ['scene://current'] }, uri: padding }

describe('a request that stays open', () => {
  let server: Awaited<ReturnType<typeof startServer>>
  let agent: Agent
  beforeEach(async () => {
    server = await startServer({ enableTools: true })
    agent = new Agent()
  })
  afterEach(async () => {
    agent.destroy()
    await server.stop()
  })

  it('keeps no body of a call that waits in a session', async () => {
    const { headers } = await RawSession.open(server.url)
    expect(await heldBy(headers, rpc('tools/call', wait))).to.be.lessThan(count * 100_000)
  })

  for (const [about, method, params] of [
    ['a call that waits', 'tools/call', wait],
    ['a stream', 'subscriptions/listen', listen],
  ] as const) {
    it(`keeps no body of ${about} of 2026-07-28`, async () => {
      const message = JSON.stringify(statelessRequest(method, params))
      const headers = statelessHeaders(method, params)
      expect(await heldBy(headers, message)).to.be.lessThan(count * 100_000)
    })
  }

  /** Bytes that the server holds for so many open requests with 300 kB of padding each. */
  async function heldBy(headers: Record<string, string>, message: string): Promise<number> {
    let subscribed = 0
    const resources = server.server.resources()
    const assertSubscribable = resources.assertSubscribable.bind(resources)
    resources.assertSubscribable = uri => {
      subscribed++
      return assertSubscribable(uri)
    }
    const body = Buffer.from(message)
    const before = await bytesInUse()
    for (let opened = 0; opened < count; opened++) {
      const open = request(server.url, { method: 'POST', headers, agent })
      open.on('error', () => {}).end(body)
    }
    await until(() => subscribed >= count, 'open requests')
    return (await bytesInUse()) - before
  }
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
