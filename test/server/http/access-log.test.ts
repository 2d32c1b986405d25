import { expect } from 'chai'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { RawSession, startServer, type TestServer } from '../../helpers/mcp.ts'
import { until } from '../../helpers/until.ts'
import { exchange, RawSocket, requestText } from '../../process/raw-socket.ts'

describe('the access log', () => {
  let entries: AccessEntry[]
  let server: TestServer
  let port: number

  before(async () => {
    server = await startServer({}, { accessLog: entry => void entries.push(entry) })
    port = Number(new URL(server.base).port)
  })
  beforeEach(() => (entries = []))

  it('has the path of a request without its query, and its status', async () => {
    for (const [method, target] of [
      ['GET', '/healthz?secret'],
      ['GET', '/nothing?secret'],
      ['PUT', '/mcp?secret'],
    ]) {
      await exchange(port, requestText([`${method} ${target} HTTP/1.1`, 'Host: localhost']))
    }
    await until(() => entries.length === 3, 'three entries')
    expect(entries.map(({ path, status }) => [path, status])).to.deep.equal([
      ['/healthz', 200],
      ['/nothing', 404],
      ['/mcp', 405],
    ])
  })

  it('has the method and the resource of a call, cut, and without secrets of its query', async () => {
    const session = await RawSession.open(server.url)
    await session.call('resources/read', { uri: 'scene://delta?since=1&api_key=hunter2' })
    await session.call('resources/read', { uri: `app://${'y'.repeat(2000)}` })
    await session.call('x'.repeat(100_000))
    const uris = () => entries.flatMap(({ uri }) => uri ?? [])
    const unknown = () => entries.find(({ rpc }) => rpc?.startsWith('xxx'))?.rpc
    await until(() => uris().length === 2 && unknown() !== undefined, 'the entries')
    expect(uris()[0]).to.equal('scene://delta?since=1&api_key=[redacted]')
    expect(uris()[1]).to.have.length(201)
    expect(unknown()).to.have.length(201)
  })

  it('has no status for a request that was cut before its answer', async () => {
    const raw = await RawSocket.open(port)
    const head = ['POST /mcp HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
    raw.write(requestText([...head, 'Content-Length: 9'], 'half'))
    await new Promise(resolve => setImmediate(resolve))
    raw.close()
    await until(() => entries.length === 1, 'the entry')
    expect(entries[0]).to.include({ path: '/mcp', status: null })
  })
})
