import { expect } from 'chai'
import { createFixture } from '../conformance/fixture.ts'
import { waitingTool } from '../conformance/tools.ts'
import { until } from '../helpers/until.ts'
import { postHeaders, RawSession, rpc } from '../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../helpers/stateless.ts'
import { startReference } from './reference-server.ts'

const call = { name: 'test_waiting', arguments: {} }

/** Sends a call that waits; `text` is what has come of the answer. */
function begin(url: string, headers: Readonly<Record<string, string>>, body: string) {
  const gone = new AbortController()
  const seen = { text: '' }
  const read = async () => {
    const answer = await fetch(url, { method: 'POST', headers, body, signal: gone.signal })
    for await (const chunk of answer.body ?? []) seen.text += Buffer.from(chunk).toString()
  }
  const ended = read().catch(() => {})
  return { leave: () => gone.abort(), ended, seen }
}

type Tell = Parameters<typeof waitingTool>[0]

describe('a tool call that its client cancels, beside the official SDK', () => {
  const parties = [
    {
      name: 'service-cli',
      async start(tell: Tell) {
        const server = createFixture([waitingTool(tell)])
        return { url: (await server.start()).url, close: () => server.stop() }
      },
    },
    { name: 'the SDK', start: (tell: Tell) => startReference([waitingTool(tell)]) },
  ]
  for (const { name, start } of parties) {
    describe(name, () => {
      let events: string[] = []
      let party: { url: string; close(): Promise<void> }
      before(async () => (party = await start(event => events.push(event))))
      beforeEach(() => (events = []))
      after(() => party.close())

      const happened = (event: string) => until(() => events.includes(event), event)

      it('ends in a session with notifications/cancelled, 202, and is not answered', async () => {
        const session = await RawSession.open(party.url)
        const { leave, ended, seen } = begin(party.url, session.headers, rpc('tools/call', call, 7))
        await happened('began')
        const params = { requestId: 7 }
        const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
        expect((await session.post(JSON.stringify(cancel))).status).to.equal(202)
        await happened('left')
        expect((await session.call('ping')).result).to.deep.equal({})
        leave()
        await ended
        expect([events, seen.text]).to.deep.equal([['began', 'left'], ''])
      })

      it('ends in 2026-07-28 with its connection', async () => {
        const headers = { ...postHeaders, ...statelessHeaders('tools/call', call) }
        const body = JSON.stringify(statelessRequest('tools/call', call))
        const { leave, ended } = begin(party.url, headers, body)
        await happened('began')
        leave()
        await ended
        await happened('left')
      })
    })
  }
})
