import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClientContext, type ClientContext } from '../../../../src/lib/mcp/client/context.ts'
import { defaultMcpClientLimits } from '../../../../src/lib/mcp/client/limits.ts'
import { openPushes } from '../../../../src/lib/mcp/client/session-pushes.ts'
import { silentLogger } from '../../../../src/lib/util/logger.ts'
import { systemTimer, type Timer } from '../../../../src/lib/util/time.ts'
import { until } from '../../../helpers/until.ts'

const limits = defaultMcpClientLimits
/** No pause before a stream is opened again; all else takes its time. */
const timer: Timer = {
  after: (ms, run) => systemTimer.after(Object.values(limits).includes(ms) ? ms : 0, run),
}

describe('the event stream of the client with a session', () => {
  let server: Server
  let context: ClientContext
  let answers: ((res: ServerResponse) => void)[]
  let asked: number
  let updates: number
  const stop = new AbortController()

  beforeEach(async () => {
    ;[answers, asked, updates] = [[], 0, 0]
    server = createServer((_, res) => {
      asked++
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      answer?.(res)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    context = createClientContext({ key: null, env: {}, timer, log: silentLogger, limits })
  })
  afterEach(async () => {
    context.link.close()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  const open = () =>
    openPushes({
      context,
      url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
      headers: {},
      signal: stop.signal,
      updated: () => updates++,
      reply: async () => {},
    })
  const endStream = (res: ServerResponse) =>
    res.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(': open\n\n')
  const holdStream = (res: ServerResponse) =>
    res.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': open\n\n')

  const refusals: [status: number, code: string, says: string][] = [
    [405, 'request_refused', 'the server has no event stream for updates (HTTP 405)'],
    [404, 'network_failed', 'is lost: it has ended the session'],
    [401, 'auth_required', 'requires a key or token (HTTP 401)'],
  ]
  for (const [status, code, says] of refusals) {
    it(`is refused with ${code} after HTTP ${status}`, async () => {
      answers = [res => void res.writeHead(status).end()]
      const error = await open().catch((thrown: unknown) => thrown)
      expect(error).to.include({ code })
      expect(String(error)).to.contain(says)
      expect(asked).to.equal(1)
    })
  }

  it('is opened again when the server ends it, and counts as an update: one may be missed', async () => {
    answers = [endStream, holdStream]
    const { ended } = await open()
    await until(() => updates === 1, 'the update after the gap')
    expect(asked).to.equal(2)
    server.closeAllConnections()
    expect(await ended).to.deep.equal({ kind: 'lost', reason: 'the connection was cut' })
  })

  it('is lost when the server keeps ending it', async () => {
    answers = [endStream]
    const { ended } = await open()
    expect(await ended).to.deep.equal({ kind: 'lost', reason: 'it keeps closing its event stream' })
    expect(asked).to.equal(6)
  })
})
