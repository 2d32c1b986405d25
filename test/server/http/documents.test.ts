import { expect } from 'chai'
import { ask, startServer, type TestServer } from '../../helpers/mcp.ts'

describe('public documents', () => {
  it('are asked for at every request: what they say may change, and they may go', async () => {
    const answers: (object | null)[] = [{ round: 1 }, { round: 2 }, null, null]
    const read = () => answers.shift() ?? null
    const server = await startServer({}, { documents: new Map([['/a', read]]) })
    const first = await ask(`${server.base}/a`)
    expect(first.json).to.deep.equal({ round: 1 })
    expect(first.headers).to.include({
      'content-type': 'application/json',
      'cache-control': 'no-cache',
    })
    expect((await ask(`${server.base}/a`)).json).to.deep.equal({ round: 2 })
    const gone = await ask(`${server.base}/a`)
    expect(gone.status).to.equal(404)
    expect(gone.json).to.include({ detail: 'nothing is served at /a' })
    await server.stop()
  })

  it('that fail are a 500 without a word about why', async () => {
    const fails = () => {
      throw new Error('inner secret')
    }
    const server = await startServer({}, { documents: new Map([['/a', fails]]) })
    const answer = await ask(`${server.base}/a`)
    expect(answer.status).to.equal(500)
    expect(answer.text).not.to.include('inner secret')
    await server.stop()
  })
})

describe('the paths that clients probe', () => {
  const page = 'https://studio.example'
  let server: TestServer

  before(async () => {
    server = await startServer({ allowedOrigins: [page] })
  })
  after(() => server.stop())

  const probes: [method: string, path: string, says: RegExp][] = [
    ['GET', '/.well-known/oauth-protected-resource/mcp', /takes no OAuth tokens/],
    ['GET', '/.well-known/oauth-authorization-server', /is no authorization server/],
    ['GET', '/.well-known/openid-configuration', /is no authorization server/],
    ['GET', '/mcp/.well-known/openid-configuration', /is no authorization server/],
    ['GET', '/.well-known/oauth-client-metadata', /OAuth is not configured/],
    ['POST', '/register', /clients are not registered here.*Authorization: Bearer/],
  ]
  for (const [method, path, says] of probes) {
    it(`answer a 404 in JSON that says what is missing: ${method} ${path}`, async () => {
      const init = method === 'POST' ? { method, body: '{"client_name":"x"}' } : { method }
      const { status, headers, json } = await ask(server.base + path, init)
      expect(status).to.equal(404)
      expect(headers['content-type']).to.equal('application/problem+json')
      expect(json).to.include({ code: 'route-not-found', status: 404 })
      expect(json.detail).to.match(says)
    })
  }

  it('answer who wants to register in the words of OAuth, too', async () => {
    const { json } = await ask(`${server.base}/register`, { method: 'POST', body: '{}' })
    expect(json).to.include({ error: 'invalid_request', error_description: json.detail })
  })

  it('can be read by a page that is allowed to ask, its preflight included', async () => {
    const url = `${server.base}/.well-known/oauth-protected-resource/mcp`
    const { status, headers } = await ask(url, { headers: { Origin: page } })
    expect([status, headers['access-control-allow-origin']]).to.deep.equal([404, page])
    const asked = { Origin: page, 'Access-Control-Request-Method': 'POST' }
    const preflight = await ask(`${server.base}/register`, { method: 'OPTIONS', headers: asked })
    expect(preflight.status).to.equal(204)
    expect(preflight.headers['access-control-allow-origin']).to.equal(page)
  })
})
