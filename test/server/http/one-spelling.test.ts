import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  accountsInProcess,
  gatewayInProcess,
  serveInProcess,
} from '../../helpers/in-process-servers.ts'
import { exchange, requestText } from '../../process/raw-socket.ts'

const get = (path: string, ...lines: string[]) =>
  requestText([`GET ${path} HTTP/1.1`, 'Host: localhost', ...lines])

describe('every server', () => {
  const opened = new AsyncDisposableStack()
  const ports: [server: string, port: number][] = []
  const health = get('/healthz')

  before(async () => {
    const registryDir = await mkdtemp(join(tmpdir(), 'one-spelling-'))
    opened.defer(() => rm(registryDir, { recursive: true, force: true }))
    const serve = await serveInProcess({ registryDir })
    opened.defer(async () => void (await serve.stop()))
    const gateway = gatewayInProcess({ port: 0, registryDir })
    opened.defer(() => gateway.stop())
    const accounts = await accountsInProcess()
    opened.defer(async () => void (await accounts.stop()))
    const { url } = await gateway.line('listening')
    ports.push(
      ['serve', serve.port],
      ['gateway', Number(new URL(url).port)],
      ['registry', accounts.port],
    )
  })
  after(() => opened.disposeAsync())

  it('refuses a path that a URL parser or the router would rewrite', async () => {
    for (const [server, port] of ports) {
      expect((await exchange(port, health))?.status, server).to.equal(200)
      for (const path of [
        '/nothing/../healthz',
        '/nothing/%2e%2E/healthz',
        '/./healthz',
        '/%68ealthz',
        '/%6dcp',
        '/api/v1/auth/%6de',
        '/\\healthz',
        '/healthz#',
        'http://localhost/nothing/../healthz',
      ]) {
        const answer = await exchange(port, get(path))
        expect(answer?.status, `${server} ${path}`).to.equal(400)
      }
    }
  })
})
