import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { startGateway } from '../../../src/server/gateway.ts'
import { startAccountsServer } from '../../../src/server/accounts-server.ts'
import { startServe } from '../../../src/server/serve.ts'
import { exchange, RawSocket, requestText } from '../../process/raw-socket.ts'

const host = 'Host: localhost'
const get = (path: string, ...lines: string[]) =>
  requestText([`GET ${path} HTTP/1.1`, host, ...lines])

describe('every server', () => {
  const opened = new AsyncDisposableStack()
  const ports: [server: string, port: number][] = []
  const health = get('/healthz')

  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'one-spelling-'))
    opened.defer(() => rm(folder, { recursive: true, force: true }))
    const common = {
      host: '127.0.0.1',
      port: 0,
      allowedHosts: [],
      allowedOrigins: [],
      accessLog: () => {},
      log: silentLogger,
      registryDir: folder,
    }
    const servers = [
      await startServe({ ...common, dccType: 'maya', artefacts: true, resources: true }),
      await startGateway({ ...common, standby: false }),
      await startAccountsServer({ ...common, dataDir: join(folder, 'data'), registration: 'open' }),
    ]
    for (const [at, server] of servers.entries()) {
      opened.defer(() => server.stop())
      ports.push([['serve', 'gateway', 'registry'][at] ?? '', Number(new URL(server.url).port)])
    }
  })
  after(() => opened.disposeAsync())

  it('refuses a path that a URL parser or the router would rewrite', async () => {
    for (const [server, port] of ports) {
      expect((await exchange(port, health))?.status, server).to.equal(200)
      for (const path of [
        '/nothing/../healthz',
        '/nothing/%2e%2E/healthz',
        '/nothing/.%2e/healthz',
        '/./healthz',
        '/%2e/healthz',
        '/%68ealthz',
        '/health%7A',
        '/%61pi/v1/auth/me',
        '/api/v1/auth/%6de',
        '/%6dcp',
        '/nothing\\..\\healthz',
        '/\\healthz',
        '/healthz#',
        '/healthz/../api/v1/auth/me',
        '/mcp/../mcp',
        'http://localhost/nothing/../healthz',
      ]) {
        const answer = await exchange(port, get(path))
        expect(answer?.status, `${server} ${path}`).to.equal(400)
      }
    }
  })

  const unclear: [what: string, text: string][] = [
    ['a coding within chunks', get('/healthz', 'Transfer-Encoding: gzip, chunked')],
    ['chunks named twice', get('/healthz', 'Transfer-Encoding: chunked, chunked')],
    [
      'codings on two lines',
      get('/healthz', 'Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'),
    ],
    [
      'chunks in HTTP/1.0',
      get('/healthz', 'Connection: keep-alive', 'Transfer-Encoding: chunked').replace('1.1', '1.0'),
    ],
  ]
  for (const [what, text] of unclear) {
    it(`answers ${what} last: nothing behind it is acted on`, async () => {
      for (const [server, port] of ports) {
        const raw = await RawSocket.open(port)
        raw.write(`${text}0\r\n\r\n${health}${health}`)
        await raw.untilClosed()
        const [answer, ...more] = await raw.answers(2)
        expect(answer?.headers, server).to.include({ connection: 'close' })
        expect(more, server).to.deep.equal([])
      }
    })
  }
})
