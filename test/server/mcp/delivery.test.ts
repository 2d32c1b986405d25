import { expect } from 'chai'
import { request } from 'node:http'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { openPolicy } from '../../../src/server/http/authentication.ts'
import { type Events, initialize, RawSession, startServer } from '../../helpers/mcp.ts'
import { listenStateless } from '../../helpers/stateless.ts'

const uri = 'scene://current'

describe('sessions and streams of the other transport', () => {
  it('have room when the one holds as many clients as it may', async () => {
    const most = 4
    const running = await startServer({ limits: { maxSessions: most } })
    const openStream = (id: unknown) =>
      listenStateless(running.url, { resourceSubscriptions: [uri] }, id)
    const openSession = async () => {
      const session = await RawSession.open(running.url)
      await session.call('resources/subscribe', { uri })
      return { session, events: await session.listen() }
    }
    const streams: Events[] = []
    for (let n = 0; n < most; n++) streams.push(await openStream(n))
    const refusal = await openStream('more').catch((error: unknown) => String(error))
    expect(refusal).to.match(/as many streams as it may/)
    const sessions = []
    for (let n = 0; n < most; n++) sessions.push(await openSession())
    const refused = await initialize(running.url)
    expect(refused.status).to.equal(503)
    expect(refused.headers['retry-after']).to.match(/^\d+$/)
    running.server.resources().setScene({})
    const all = [...streams, ...sessions.map(({ events }) => events)]
    await Promise.all(all.map(events => events.until(() => events.updates.length === 1)))
    await sessions[0]?.session.delete()
    expect((await initialize(running.url)).status).to.equal(200)
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
    const session = await RawSession.open(running.url)
    isSlow = true
    const headers = { ...session.headers, Accept: 'text/event-stream' }
    const left = request(running.url, { headers })
    left.on('error', () => {}).end()
    await asked.promise
    left.destroy()
    await gone.promise
    decided.resolve()
    expect((await initialize(running.url)).status, 'the idle session makes room').to.equal(200)
  })
})
