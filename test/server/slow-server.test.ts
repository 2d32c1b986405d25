import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostRequest } from '../../src/lib/mcp/client/host-request.ts'
import { silentLogger } from '../../src/lib/util/logger.ts'
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

  it('is named after five seconds by the client of the host link, which waits on', async () => {
    const warned = Promise.withResolvers<string>()
    const log = { ...silentLogger, warn: (_: object, text = '') => warned.resolve(text) }
    const target = { url: new URL(`http://${host}/host`), token: new Secret('t'.repeat(32)), log }
    const post = { method: 'POST', path: 'v1/x' } as const
    const answer = hostRequest(target, post)
    const line = `still waiting for ${host}, which has not answered for 5 s`
    expect(await warned.promise).to.equal(line)
    for (const res of held) res.end('{"a":1}')
    expect(await answer).to.deep.equal({ a: 1 })
  })
})
