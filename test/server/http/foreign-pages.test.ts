import { expect } from 'chai'
import { networkInterfaces } from 'node:os'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { ask, initialize, RawSession } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { exchange, requestText } from '../../process/raw-socket.ts'

const artefact = `/artefacts/sha256/${'a'.repeat(64)}`

const routes = [
  ['POST', '/mcp'],
  ['GET', '/mcp'],
  ['OPTIONS', '/mcp'],
  ['GET', artefact],
  ['POST', '/host/v1/scene'],
  ['GET', '/healthz'],
  ['GET', '/metrics'],
  ['GET', '/page/app.js'],
  ['POST', '/page/session'],
  ['GET', '/nothing'],
] as const

/** What a page of another site, or a name pointed at 127.0.0.1, sends; the guards have a test each. */
const hosts = ['evil.example', '127.0.0.1.evil.example', '0.0.0.0']
const origins = ['https://evil.example', 'http://localhost.evil.example', 'null', 'file://']

describe('pages of other sites', () => {
  const page = 'https://studio.example'
  let serve: RunningServe
  /** Reached from other machines, by one page and under one name. */
  let exposed: RunningServe

  before(async () => {
    const flags = ['--host', '0.0.0.0', '--allow-unauthenticated']
    const allowed = ['--allowed-origin', `${page}:443`, '--allowed-host', 'proxy.example']
    ;[serve, exposed] = await Promise.all([
      serveInProcess(),
      serveInProcess({ flags: [...flags, ...allowed] }),
    ])
  })

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
    const answer = await initialize(serve.url, origin)
    expect(answer.status).to.equal(200)
    expect(answer.headers).not.to.have.any.keys('access-control-allow-origin', 'vary')
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
    const session = await RawSession.open(serve.url)
    expect(await session.readJson('scene://current')).to.include({ status: 'no_snapshot' })
  })

  const open = async (Host: string, Origin: string, address = '127.0.0.1') => {
    const url = `http://${address}:${exposed.port}/mcp`
    const answer = await initialize(url, { Host, Origin })
    return [answer.status, answer.headers['access-control-allow-origin']]
  }

  it('named by --allowed-origin and --allowed-host get in, the others do not', async () => {
    expect(await open('proxy.example', page)).to.deep.equal([200, page])
    expect(await open('proxy.example:1', page)).to.deep.equal([200, page])
    for (const [host, origin] of [
      ['other.example', page],
      ['proxy.example', `${page}:444`],
      ['proxy.example', 'http://studio.example'],
      ['proxy.example', `${page}.evil.example`],
    ] as const) {
      expect(await open(host, origin), `${host} ${origin}`).to.deep.equal([403, undefined])
    }
    expect((await exposed.post('scene', {}, { Origin: page })).status).to.equal(403)
  })

  it('on the address of the server itself get in, wherever its Host is accepted', async () => {
    const address = Object.values(networkInterfaces())
      .flatMap(each => each ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
    for (const name of [address ?? '127.0.0.1', 'proxy.example']) {
      const host = `${name}:${exposed.port}`
      expect(await open(host, `http://${host}`, address), host).to.include(200)
      expect(await open(host, 'null', address), host).to.include(403)
      expect(await open(host, 'http://evil.example', address), host).to.include(403)
    }
    const host = `proxy.example:${exposed.port}`
    expect(await open(host, `http://proxy.example:${exposed.port + 1}`)).to.include(403)
    expect(await open('evil.example', 'http://evil.example')).to.include(403)
  })

  it('that are allowed may send and read what downloads and every revision take', async () => {
    const download = exposed.base + artefact
    const asked = ['Authorization', 'Range', 'Mcp-Session-Id', 'MCP-Protocol-Version']
    for (const [url, method] of [
      [download, 'GET'],
      [exposed.url, 'POST'],
    ] as const) {
      const headers = {
        Origin: page,
        'Access-Control-Request-Method': method,
        'Access-Control-Request-Headers': asked.join(','),
      }
      const preflight = await ask(url, { method: 'OPTIONS', headers })
      expect(preflight.status).to.equal(204)
      const allowed = preflight.headers
      expect(allowed['access-control-allow-methods']?.split(',')).to.include(method)
      expect(allowed['access-control-allow-headers']?.split(',')).to.include.members(asked)
    }
    const { headers } = await ask(download, { headers: { Origin: page } })
    expect(headers).to.include({ 'access-control-allow-origin': page, vary: 'Origin' })
    expect(headers['access-control-expose-headers']?.split(',')).to.have.members([
      'Mcp-Session-Id',
      'WWW-Authenticate',
      'ETag',
      'Content-Range',
      'Accept-Ranges',
      'Content-Disposition',
      'Retry-After',
    ])
    expect((await ask(exposed.url)).headers.vary).to.equal('Origin')
    const refused = await ask(exposed.url, { headers: { Origin: 'https://evil.example' } })
    expect([refused.status, refused.headers.vary], 'for caches').to.deep.equal([403, 'Origin'])
  })
})
