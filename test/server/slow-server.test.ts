import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defaultClientLimits } from '../../src/lib/accounts/client-limits.ts'
import { createTransport } from '../../src/lib/accounts/transport.ts'
import { hostRequest } from '../../src/lib/mcp/client/host-request.ts'
import { type Logger, silentLogger } from '../../src/lib/util/logger.ts'
import { Secret } from '../../src/lib/util/secret.ts'

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

  it('is named after five seconds by the host link and accounts clients, which wait on', async () => {
    const warnings: string[] = []
    const all = Promise.withResolvers<void>()
    const warn: Logger['warn'] = (_, message = '') => {
      if (warnings.push(message) === 2) all.resolve()
    }
    const log = { ...silentLogger, warn }
    const { signal } = new AbortController()
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
      hostRequest(target, post),
      transport.send({ method: 'GET', path: '/me' }),
    ])
    await all.promise
    const line = `still waiting for ${host}, which has not answered for 5 s`
    expect(warnings).to.deep.equal([line, line])
    for (const res of held) res.end('{"a":1}')
    const [answer, account] = await answers
    expect([answer, account.status]).to.deep.equal([{ a: 1 }, 200])
  })
})
