import { expect } from 'chai'
import type { AccessEntry } from '../../../src/lib/util/logger.ts'
import { exchange, RawSocket, requestText } from '../../process/raw-socket.ts'
import { until } from '../../helpers/until.ts'
import { ask, RawSession, startServer, type TestServer } from '../../helpers/mcp.ts'

const page = 'https://studio.example'

describe('requests', () => {
  let entries: AccessEntry[]
  let server: TestServer
  let port: number

  before(async () => {
    const config = { allowedOrigins: [`${page}:443`], enableArtefactResources: true }
    server = await startServer(config, { accessLog: entry => void entries.push(entry) })
    port = Number(new URL(server.base).port)
  })
  beforeEach(() => (entries = []))
  after(() => server.stop())

  describe('whose target or Host is unusual', () => {
    const cases: [line: string, host: string, status: number][] = [
      ['OPTIONS *', 'localhost', 404],
      ['GET *', 'localhost', 404],
      ['GET ftp://localhost/healthz', 'localhost', 400],
      ['GET http://localhost/healthz', 'localhost', 200],
      ['GET HTTP://127.0.0.1:1/healthz?a', 'localhost', 200],
      ['GET http://localhost/nothing', 'localhost', 404],
      ['GET http://localhost/mcp', 'localhost', 406],
      ['GET http://evil.example/healthz', 'localhost', 403],
      ['GET http://localhost@evil.example/healthz', 'localhost', 403],
      ['GET http://localhost:80:80/healthz', 'localhost', 400],
      ['GET http:///healthz', 'localhost', 400],
      ['GET http://localhost/healthz', 'evil.example', 403],
      ['GET /healthz', 'localhost:80:80@x', 400],
      ['GET /healthz', 'localhost:a/b', 400],
      ['GET /healthz', 'localhost:99999', 400],
      ['GET /a\\b', 'localhost', 400],
      ['GET //evil.example', 'localhost', 404],
    ]
    for (const [line, host, status] of cases) {
      it(`get ${status} with JSON: ${line}, Host: ${host}`, async () => {
        const bytes = requestText([`${line} HTTP/1.1`, `Host: ${host}`, 'Accept: text/html'])
        const answer = await exchange(port, bytes)
        expect(answer?.status).to.equal(status)
        expect(answer?.headers['content-type']).to.match(/^application\/(problem\+)?json$/)
        expect(JSON.parse(answer?.body ?? '')).to.be.an('object')
      })
    }
  })

  it('are logged by their path alone, whatever form they have', async () => {
    for (const target of [
      '/healthz?secret',
      'http://localhost/healthz?secret',
      'ftp://a/?secret',
    ]) {
      await exchange(port, requestText([`GET ${target} HTTP/1.1`, 'Host: localhost']))
    }
    await until(() => entries.length === 3, 'three entries')
    expect(entries.map(({ path }) => path)).to.deep.equal(['/healthz', '/healthz', ''])
  })

  it('are logged with the resource that they are about, without secrets of its query', async () => {
    const session = await RawSession.open(server.url)
    await session.call('resources/read', { uri: 'scene://delta?since=1&api_key=hunter2' })
    await session.call('resources/read', { uri: `app://${'y'.repeat(2000)}` })
    const uris = () => entries.flatMap(({ uri }) => uri ?? [])
    await until(() => uris().length === 2, 'two entries')
    expect(uris()[0]).to.equal('scene://delta?since=1&api_key=[redacted]')
    expect(uris()[1]).to.have.length(201)
  })

  it('cannot fill the log with their method', async () => {
    const session = await RawSession.open(server.url)
    await session.call('x'.repeat(100_000))
    await until(() => entries.some(({ rpc }) => rpc?.startsWith('xxx')), 'the entry')
    const rpc = entries.find(entry => entry.rpc?.startsWith('xxx'))?.rpc
    expect(rpc).to.have.length(201)
  })

  it('that were cut before an answer have no status in the log', async () => {
    const raw = await RawSocket.open(port)
    raw.write(requestText(['POST /mcp HTTP/1.1', 'Host: localhost', 'Content-Length: 9'], 'half'))
    await new Promise(resolve => setImmediate(resolve))
    raw.close()
    await until(() => entries.length === 1, 'the entry')
    expect(entries[0]).to.include({ path: '/mcp', status: null })
  })

  describe('of a page that is allowed', () => {
    const artefact = () => `${server.base}/artefacts/sha256/${'a'.repeat(64)}`

    it('are told what to read of the answer', async () => {
      const answer = await ask(artefact(), { headers: { Origin: page } })
      expect(answer.headers['access-control-allow-origin']).to.equal(page)
      expect(answer.headers['access-control-expose-headers']?.split(', ')).to.have.members([
        'Mcp-Session-Id',
        'WWW-Authenticate',
        'ETag',
        'Content-Range',
        'Accept-Ranges',
        'Content-Disposition',
        'Retry-After',
      ])
    })

    it('may send what a download takes', async () => {
      const headers = { Origin: page, 'Access-Control-Request-Method': 'GET' }
      const answer = await ask(artefact(), { method: 'OPTIONS', headers })
      expect(answer.status).to.equal(204)
      const allowed = answer.headers['access-control-allow-headers']?.split(', ')
      expect(allowed).to.include.members(['Authorization', 'Range', 'If-Range', 'If-None-Match'])
    })

    it('may send what every revision of the protocol takes', async () => {
      const headers = { Origin: page, 'Access-Control-Request-Method': 'POST' }
      const answer = await ask(server.url, { method: 'OPTIONS', headers })
      const allowed = answer.headers['access-control-allow-headers']?.split(', ')
      expect(allowed).to.include.members([
        'Content-Type',
        'Accept',
        'Mcp-Session-Id',
        'MCP-Protocol-Version',
        'Mcp-Method',
        'Mcp-Name',
      ])
    })

    it('depend on the page: every answer says so to caches, to whomever it goes', async () => {
      for (const url of [server.url, artefact()]) {
        for (const origin of [[], [page], ['https://evil.example']]) {
          const answer = await ask(url, { headers: { Origin: origin } })
          expect(answer.headers.vary, String(origin)).to.equal('Origin')
        }
      }
    })
  })

  it('have nothing to do with pages where none is allowed', async () => {
    const closed = await startServer()
    expect((await ask(closed.url)).headers).not.to.have.property('vary')
    await closed.stop()
  })
})
