import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defaultClientLimits } from '../../src/lib/accounts/client-limits.ts'
import { createTransport } from '../../src/lib/accounts/transport.ts'
import { createClientContext } from '../../src/lib/mcp/client/context.ts'
import { hostRequest } from '../../src/lib/mcp/client/host-request.ts'
import { defaultMcpClientLimits as limits } from '../../src/lib/mcp/client/limits.ts'
import { type Logger, silentLogger } from '../../src/lib/util/logger.ts'
import { Secret } from '../../src/lib/util/secret.ts'
import { systemTimer } from '../../src/lib/util/time.ts'

describe('a server that takes long for its answer', () => {
  let server: Server
  let host: string
  const held: ServerResponse[] = []
  before(async () => {
    server = createServer((_, res) => void held.push(res)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  it('is named after five seconds, by every client of a command, which waits on', async () => {
    const warnings: string[] = []
    const all = Promise.withResolvers<void>()
    const warn: Logger['warn'] = (_, message = '') => {
      if (warnings.push(message) === 3) all.resolve()
    }
    const log = { ...silentLogger, warn }
    const { signal } = new AbortController()
    const context = createClientContext({ key: null, env: {}, limits, timer: systemTimer, log })
    const url = new URL(`http://${host}/mcp`)
    const ask = { url, method: 'GET', headers: {}, repeatable: true, answerMs: 60_000 } as const
    const target = { url: new URL(`http://${host}/host`), token: new Secret('t'.repeat(32)), log }
    const post = { method: 'POST', path: 'v1/x', silenceMs: 60_000, signal } as const
    const origin = `http://${host}`
    const accounts = { url: origin, origin, loopback: true, exposed: false }
    const transport = createTransport({
      server: accounts,
      env: {},
      limits: defaultClientLimits,
      log,
    })
    const answers = Promise.all([
      context.link.ask({ ...ask, signal }).then(answer => answer.resume().statusCode),
      hostRequest(target, post),
      transport.send({ method: 'GET', path: '/me' }),
    ])
    await all.promise
    const line = `still waiting for ${host}, which has not answered for 5 s`
    expect(warnings).to.deep.equal([line, line, line])
    for (const res of held) res.end('{"a":1}')
    const [status, answer, account] = await answers
    expect([status, answer, account.status]).to.deep.equal([200, { a: 1 }, 200])
    context.link.close()
  })
})
