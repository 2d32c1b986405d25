import { expect } from 'chai'
import { LinkServer, bearer, json } from './harness.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { ask } from '../../helpers/mcp.ts'

const studio = 'https://studio.example'

describe('access to the host routes', () => {
  let host: LinkServer
  before(async () => (host = await LinkServer.start({ allowedOrigins: [studio] })))
  beforeEach(() => void host.refused.splice(0))
  afterEach(() => host.expectNothingArrived())
  after(() => host.stop())

  it('returns 401 to every address without a token', async () => {
    const paths = ['scene', 'app', 'audit', 'events/s', 'artefacts', 'nowhere']
    for (const path of paths) {
      const type = { 'Content-Type': 'application/json' }
      const answer = await host.post(`/host/v1/${path}`, '{}', type)
      expect(answer.status, path).to.equal(401)
      expect(answer.headers['www-authenticate']).to.equal('Bearer')
      expect(answer.headers['content-type']).to.equal('application/problem+json')
      expect(answer.body.code).to.equal('auth-required')
    }
    const refused = { status: 401, reason: 'token_missing', peer: '127.0.0.1' }
    expect(host.refused).to.deep.equal(Array(paths.length).fill(refused))
  })

  it('returns 401 to a wrong token without repeating it', async () => {
    const Authorization = 'Bearer wrong-and-private'
    const hex = '0'.repeat(64)
    const answers = [
      await host.post('/host/v1/scene', '{}', { ...json, Authorization }),
      await host.send('DELETE', `/host/v1/artefacts/${hex}`, { Authorization }),
    ]
    for (const answer of answers) {
      expect(answer.status).to.equal(401)
      expect(answer.headers['www-authenticate']).to.match(/^Bearer/)
      expect(answer.text).not.to.contain('wrong-and-private')
    }
    expect(host.refused.map(({ reason }) => reason)).to.deep.equal(['token_wrong', 'token_wrong'])
  })

  it('returns 401 to the token in a query or a cookie', async () => {
    const token = bearer.Authorization.slice('Bearer '.length)
    const headers = { 'Content-Type': 'application/json', Cookie: `token=${token}` }
    const answer = await host.post(`/host/v1/scene?token=${token}`, '{}', headers)
    expect(answer.status).to.equal(401)
  })

  it('returns 403 to an Origin header, even with the token', async () => {
    for (const origin of [studio, 'http://localhost:8765', 'null', '']) {
      const answer = await host.post('/host/v1/scene', '{}', { ...json, Origin: origin })
      expect(answer.status).to.equal(403)
      expect(answer.body.code).to.equal('request-refused')
    }
    expect(host.refused[0]).to.include({ reason: 'origin_present' })
  })

  it('returns 405 with Allow to other methods', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await host.send(method, '/host/v1/scene', json)
      expect(answer.status).to.equal(405)
      expect(answer.headers.allow).to.equal('POST, PATCH')
    }
    expect(host.refused).to.deep.equal([])
  })

  it('returns 404 to unknown addresses', async () => {
    const paths = ['', 'v1', 'v1/scene/', 'v2/scene', 'v1/events/', 'v1/events/a/b', 'v1/__proto__']
    for (const path of paths) {
      expect((await host.post(`/host/${path}`, '{}')).status, path).to.equal(404)
    }
  })

  it('returns 415 to JSON routes without application/json', async () => {
    for (const path of ['/host/v1/scene', '/host/v1/app', '/host/v1/audit', '/host/v1/events/s']) {
      const text = { ...bearer, 'Content-Type': 'text/plain' }
      for (const headers of [bearer, text]) {
        expect((await host.post(path, '{}', headers)).status).to.equal(415)
      }
    }
  })
})

describe('the host token and the key of clients', () => {
  it('do not open what the other one opens', async () => {
    const key = 'a-key-of-the-clients'
    const serve = await serveInProcess({ env: { SERVICE_MCP_API_KEY: key } })
    const post = (url: string, secret: string) =>
      ask(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${secret}` },
        body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      })
    try {
      expect((await post(`${serve.hostUrl}/v1/scene`, key)).status).to.equal(401)
      expect((await post(`${serve.hostUrl}/v1/scene`, serve.token)).status).to.equal(200)
      expect((await post(serve.url, serve.token)).status).to.equal(401)
      const url = `${serve.base}/artefacts/sha256/${'a'.repeat(64)}`
      const headers = { Authorization: `Bearer ${serve.token}` }
      expect((await ask(url, { headers })).status).to.equal(401)
    } finally {
      await serve.stop()
    }
  })
})
