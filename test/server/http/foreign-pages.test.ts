import { expect } from 'chai'
import { networkInterfaces } from 'node:os'
import { ask, initializeBody, postHeaders, RawSession } from '../../helpers/mcp.ts'
import { exchange, requestText } from '../../process/raw-socket.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const routes = [
  ['POST', '/mcp'],
  ['GET', '/mcp'],
  ['DELETE', '/mcp'],
  ['GET', `/artefacts/sha256/${'a'.repeat(64)}`],
  ['POST', '/host/v1/scene'],
  ['POST', '/host/v1/artefacts'],
  ['GET', '/healthz'],
  ['GET', '/readyz'],
  ['GET', '/.well-known/oauth-protected-resource'],
  ['GET', '/nothing'],
  ['OPTIONS', '/mcp'],
] as const

/** What a page of another site, or a name pointed at 127.0.0.1, sends. */
const hosts = [
  'evil.example',
  'evil.example:8765',
  '127.0.0.1.evil.example',
  'localhost.evil.example',
  'evil-localhost',
  '127.0.0.2',
  '0.0.0.0',
  '2130706433',
  '[::ffff:127.0.0.1]',
  'localhost@evil.example',
  'localhost, evil.example',
  'localhost.',
]
const origins = [
  'https://evil.example',
  'http://evil.example:8765',
  'http://localhost.evil.example',
  'http://127.0.0.1.evil.example',
  'http://localhost@evil.example',
  'null',
  'file://',
  'chrome-extension://abcdef',
  'javascript://localhost',
  'http://',
  'localhost',
  'http://localhost https://evil.example',
]

describe('pages of other sites', () => {
  let serve: RunningServe

  before(async () => {
    serve = await serveInProcess()
  })

  after(() => serve.stop())

  for (const [method, path] of routes) {
    it(`are refused on ${method} ${path.slice(0, 24)}, by Host and by Origin`, async () => {
      const bodyLines = method === 'POST' ? ['Content-Length: 0'] : []
      const key = `Authorization: Bearer ${serve.token}`
      for (const host of hosts) {
        const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, key, ...bodyLines]
        const answer = await exchange(serve.port, requestText(lines))
        expect(answer?.status, `Host: ${host}`).to.equal(403)
        expect(answer?.headers['content-type']).to.match(/json$/)
        expect(answer?.body).to.contain('--allowed-host')
      }
      for (const origin of origins) {
        const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Origin: ${origin}`, key]
        const answer = await exchange(serve.port, requestText([...lines, ...bodyLines]))
        expect(answer?.status, `Origin: ${origin}`).to.equal(403)
        expect(answer?.headers).not.to.have.property('access-control-allow-origin')
        expect(answer?.headers['content-type']).to.match(/json$/)
      }
    })
  }

  it('on this machine may use /mcp, but never the host link', async () => {
    const origin = { Origin: 'http://localhost:3000' }
    const headers = { ...postHeaders, ...origin }
    const answer = await ask(serve.url, { method: 'POST', headers, body: initializeBody() })
    expect(answer.status).to.equal(200)
    for (const value of ['http://localhost:3000', serve.base, 'null']) {
      const refused = await serve.post('scene', {}, { Origin: value })
      expect(refused.status, value).to.equal(403)
    }
    const preflight = await ask(`${serve.hostUrl}/v1/scene`, {
      method: 'OPTIONS',
      headers: { ...origin, 'Access-Control-Request-Method': 'POST' },
    })
    expect(preflight.status).to.equal(403)
    expect(preflight.headers).not.to.have.property('access-control-allow-origin')
  })

  it('never reached the application state', async () => {
    const session = await RawSession.open(serve.url)
    expect(await session.readJson('scene://current')).to.include({ status: 'no_snapshot' })
  })

  it('named by --allowed-origin and --allowed-host get in, the others do not', async () => {
    const flags = ['--allowed-origin', 'https://studio.example', '--allowed-host', 'proxy.example']
    const open = await serveInProcess({ flags })
    try {
      const status = async (host: string, origin: string) => {
        const headers = { ...postHeaders, Host: host, Origin: origin }
        const answer = await ask(open.url, { method: 'POST', headers, body: initializeBody() })
        return [answer.status, answer.headers['access-control-allow-origin']]
      }
      const good = 'https://studio.example'
      expect(await status('proxy.example', good)).to.deep.equal([200, good])
      expect(await status('proxy.example:1', good)).to.deep.equal([200, good])
      expect(await status('other.example', good)).to.deep.equal([403, undefined])
      expect(await status('proxy.example', `${good}:444`)).to.deep.equal([403, undefined])
      expect(await status('proxy.example', 'http://studio.example')).to.deep.equal([403, undefined])
      expect(await status('proxy.example', `${good}.evil.example`)).to.deep.equal([403, undefined])
      expect((await open.post('scene', {}, { Origin: good })).status).to.equal(403)
    } finally {
      await open.stop()
    }
  })

  it('on the address of the server itself get in, wherever its Host is accepted', async () => {
    const reached = Object.values(networkInterfaces())
      .flatMap(each => each ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
    const address = reached ?? '127.0.0.1'
    const flags = ['--host', '0.0.0.0', '--allow-unauthenticated', '--allowed-host', 'studio.test']
    const open = await serveInProcess({ flags })
    try {
      const status = async (host: string, origin: string) => {
        const headers = { ...postHeaders, Host: host, Origin: origin }
        const url = `http://${address}:${open.port}/mcp`
        return (await ask(url, { method: 'POST', headers, body: initializeBody() })).status
      }
      for (const name of [address, 'studio.test']) {
        const host = `${name}:${open.port}`
        expect(await status(host, `http://${host}`), host).to.equal(200)
        expect(await status(host, 'null'), host).to.equal(403)
        expect(await status(host, 'http://evil.example'), host).to.equal(403)
      }
      const host = `studio.test:${open.port}`
      expect(await status(host, `http://studio.test:${open.port + 1}`)).to.equal(403)
      expect(await status('evil.example', 'http://evil.example')).to.equal(403)
    } finally {
      await open.stop()
    }
  })

  it('are not let in by headers that a proxy would set', async () => {
    for (const header of ['X-Forwarded-Host', 'Forwarded', 'X-Original-Host', 'X-Forwarded-For']) {
      const lines = ['GET /healthz HTTP/1.1', 'Host: evil.example', `${header}: localhost`]
      expect((await exchange(serve.port, requestText(lines)))?.status, header).to.equal(403)
    }
  })
})
