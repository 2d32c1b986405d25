import { expect } from 'chai'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { apiKeyPolicy } from '../../../src/server/http/authentication.ts'
import { ask, initialize, startServer } from '../../helpers/mcp.ts'
import { statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { RawSocket, requestText } from '../../process/raw-socket.ts'

describe('the route of /mcp', () => {
  const page = 'https://studio.example'
  const entries: AccessEntry[] = []
  let running: Awaited<ReturnType<typeof startServer>>
  let port: number

  before(async () => {
    running = await startServer(
      { allowedOrigins: [page] },
      { auth: apiKeyPolicy('a-long-enough-key'), accessLog: entry => void entries.push(entry) },
      server =>
        server
          .resources()
          .addProducer({
            scheme: 'broken',
            list: () => [],
            read: uri => [{ uri, blob: { size: 300_000, open: halfOfIt } }],
          }),
    )
    port = Number(new URL(running.url).port)
  })
  beforeEach(() => void (entries.length = 0))

  async function* halfOfIt() {
    yield Buffer.alloc(150_000)
    throw new Error('inner secret')
  }

  const key = { Authorization: 'Bearer a-long-enough-key' }
  const open = (path: string, headers: Record<string, string>) =>
    initialize(running.base + path, { ...key, ...headers })

  it('answers /mcp/ as /mcp, and CORS on either', async () => {
    for (const path of ['/mcp', '/mcp/']) {
      const { status, headers } = await open(path, { Origin: page })
      expect(status, path).to.equal(200)
      expect(headers, path).to.include({ 'access-control-allow-origin': page, vary: 'Origin' })
      const asked = { Origin: page, 'Access-Control-Request-Method': 'POST' }
      const preflight = await ask(running.base + path, { method: 'OPTIONS', headers: asked })
      expect(preflight.status, path).to.equal(204)
    }
  })

  it('logs the status that was sent, and no principal of a caller that is refused', async () => {
    expect((await open('/mcp', {})).status).to.equal(200)
    const refused = { Authorization: 'Bearer another-key' }
    expect((await open('/mcp', refused)).status).to.equal(401)
    await until(() => entries.length === 2, 'the entries')
    const logged = entries.map(({ status, principal }) => [status, principal])
    expect(logged).to.deep.equal([
      [200, 'api-key'],
      [401, undefined],
    ])
  })

  it('cuts an answer that fails half-way, with no word of why in it', async () => {
    const params = { uri: 'broken://x' }
    const { headers, body } = statelessPost('resources/read', params, key)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const raw = await RawSocket.open(port)
    const head = ['POST /mcp HTTP/1.1', 'Host: localhost', `Content-Length: ${body.length}`]
    raw.write(requestText([...head, ...lines], body))
    await raw.untilClosed()
    expect(raw.received).to.match(/^HTTP\/1\.1 200 /)
    expect(raw.received).not.to.contain('secret').and.not.to.contain('Error')
  })
})
