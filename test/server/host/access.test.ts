import { expect } from 'chai'
import { once } from 'node:events'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { bearer, json, LinkServer } from './harness.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { ask } from '../../helpers/mcp.ts'
import { skipBecause } from '../../helpers/skip.ts'

const studio = 'https://studio.example'
const token = bearer.Authorization.slice('Bearer '.length)
const type = { 'Content-Type': 'application/json' }

describe('access to the host routes', () => {
  let host: LinkServer
  before(async () => (host = await LinkServer.start({ allowedOrigins: [studio] })))
  beforeEach(() => void host.refused.splice(0))
  afterEach(() => host.expectNothingArrived())

  const paths = ['scene', 'app', 'audit', 'events/s', 'artefacts', 'nowhere']
  const refused: [what: string, headers: object, paths: string[], status: number, code: string][] =
    [
      ['no token', type, paths, 401, 'auth-required'],
      ['a wrong one', { ...type, Authorization: 'Bearer private' }, paths, 401, 'auth-refused'],
      ['it in a cookie', { ...type, Cookie: `token=${token}` }, ['scene'], 401, 'auth-required'],
      ['it in a query', type, [`scene?token=${token}`], 401, 'auth-required'],
      ['the origin of an allowed page', { ...json, Origin: studio }, paths, 403, 'request-refused'],
      ['an empty origin', { ...json, Origin: '' }, paths, 403, 'request-refused'],
      ['a text', { ...bearer, 'Content-Type': 'text/plain' }, paths.slice(0, 4), 415, 'media-type'],
      ['bytes of no type', bearer, paths.slice(0, 4), 415, 'media-type'],
      ['another address', json, ['', 'scene/', 'events/a/b', '__proto__'], 404, 'route-not-found'],
    ]
  for (const [what, headers, at, status, code] of refused) {
    it(`answers ${status} to a post with ${what}`, async () => {
      for (const path of at) {
        const answer = await host.post(`/host/v1/${path}`, '{}', headers as typeof json)
        expect(answer.status, path).to.equal(status)
        expect(answer.json.code).to.match(new RegExp(`^${code}`))
        expect(answer.headers['content-type']).to.equal('application/problem+json')
        expect(answer.headers['www-authenticate'] !== undefined).to.equal(status === 401)
        expect(answer.text).not.to.contain('private')
      }
      // The server refuses others before the host link sees them.
      const isAudited = status === 401 || what.includes('allowed page')
      expect(host.refused).to.have.length(isAudited ? at.length : 0)
      for (const each of host.refused) expect(each).to.include({ status, peer: '127.0.0.1' })
    })
  }

  it('answers 403 to another machine, to posts and to handshakes', async function () {
    // The address of this machine in its network is not the one that the server is reached at.
    const found = Object.values(networkInterfaces()).flatMap(each => each ?? [])
    const outside = found.find(({ family, internal }) => family === 'IPv4' && !internal)
    if (outside === undefined) skipBecause(this, 'this machine has no address but its own')
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' }
    const asked: [method: string, path: string, headers: object][] = [
      ['POST', '/host/v1/scene', json],
      ['GET', '/host', { ...bearer, ...upgrade, 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' }],
    ]
    for (const [method, path, headers] of asked) {
      const { address: localAddress } = outside
      const address = { host: '127.0.0.1', port: host.port, localAddress, method, path }
      const req = request({ ...address, headers: { ...headers, Host: 'localhost' } }).end()
      const [res] = await once(req, 'response')
      res.resume()
      expect(res.statusCode, path).to.equal(403)
    }
    expect(host.refused.map(({ reason }) => reason)).to.deep.equal(
      Array(2).fill('peer_not_loopback'),
    )
  })

  it('answers 405 with Allow to other methods', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await host.send(method, '/host/v1/scene', json)
      expect([answer.status, answer.headers.allow]).to.deep.equal([405, 'POST, PATCH'])
    }
  })
})

describe('the host token and the key of clients', () => {
  it('do not open what the other one opens', async () => {
    const key = 'a-key-of-the-clients'
    const serve = await serveInProcess({ env: { SERVICE_MCP_API_KEY: key } })
    const status = async (url: string, secret: string, method = 'POST') => {
      const headers = { ...type, Authorization: `Bearer ${secret}` }
      return (await ask(url, { method, headers, body: method === 'POST' ? '{}' : '' })).status
    }
    expect(await status(`${serve.hostUrl}/v1/scene`, key)).to.equal(401)
    expect(await status(`${serve.hostUrl}/v1/scene`, serve.token)).to.equal(200)
    expect(await status(serve.url, serve.token)).to.equal(401)
    const url = `${serve.base}/artefacts/sha256/${'a'.repeat(64)}`
    expect(await status(url, serve.token, 'GET')).to.equal(401)
  })
})
