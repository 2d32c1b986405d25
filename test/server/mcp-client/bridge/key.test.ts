import { expect } from 'chai'
import { startServer } from '../../../helpers/mcp.ts'
import { apiKeyPolicy } from '../../../../src/server/http/authentication.ts'
import { BridgeClient, type BridgeOptions, json, result, scripted } from './bench.ts'

describe('the API key of the bridge', () => {
  const key = 'k'.repeat(40)

  const keyed = () => startServer({}, { auth: apiKeyPolicy(key) })

  it('opens a server that asks for it, its stream and its end included', async () => {
    const server = await keyed()
    const client = new BridgeClient(server.url, { key })
    await client.initialize()
    await client.call('resources/subscribe', { uri: 'scene://current' })
    server.server.resources().setScene({ a: 1 })
    await client.until(() => client.updates.length === 1, 'the update')
    const modern = await client.call('resources/list', client.stateless())
    expect(modern.result.resultType).to.equal('complete')
  })

  const refusals: [what: string, options: BridgeOptions, reason: string, text: RegExp][] = [
    ['none', {}, 'auth_required', /requires a key or token.*SERVICE_MCP_API_KEY.*--api-key-file/],
    ['a wrong one', { key: 'x'.repeat(40) }, 'auth_refused', /does not accept the key or token/],
  ]
  for (const [what, options, reason, text] of refusals) {
    it(`is missed in words when there is ${what}`, async () => {
      const server = await keyed()
      const client = new BridgeClient(server.url, options)
      for (const params of [{ protocolVersion: '2025-11-25' }, client.stateless()]) {
        const method = '_meta' in params ? 'server/discover' : 'initialize'
        const { error } = await client.call(method, params)
        expect(error.code).to.equal(-32603)
        expect(error.data.reason).to.equal(reason)
        expect(error.message).to.match(text)
        expect(error.message).to.not.contain('xxxx')
      }
    })
  }

  it('is sent as Bearer, and not where a redirect leads', async () => {
    const other = await scripted((_, res) => void res.writeHead(500).end())
    const endpoint = await scripted(({ body }, res) => {
      if (body.method === 'ping') return json(res, result(body.id, {}))
      res.writeHead(307, { Location: other.url }).end()
    })
    const client = new BridgeClient(endpoint.url, { key })
    await client.call('ping')
    expect(endpoint.seen[0]?.headers.authorization).to.equal(`Bearer ${key}`)
    const { error } = await client.call('moved')
    expect(error.data).to.deep.equal({ reason: 'server_refused', status: 307 })
    expect(error.message).to.contain(`redirects to ${other.url}`)
    expect(other.seen).to.deep.equal([])
  })

  it('in the query of an address is not told, nor one in the query of a redirect', async () => {
    const endpoint = await scripted((_, res) => {
      res.writeHead(307, { Location: '/x?token=hidden' }).end()
    })
    const moved = new BridgeClient(`${endpoint.url}?token=hidden`)
    const { error } = await moved.call('ping')
    expect(error.message).to.contain(`${endpoint.url}?… redirects to http://`)
    // Nobody listens on port 1.
    const lost = new BridgeClient('http://127.0.0.1:1/mcp?token=hidden')
    await lost.call('ping')
    expect(JSON.stringify(lost.fields)).to.contain('http://127.0.0.1:1/mcp?…')
    for (const { lines, fields } of [moved, lost]) {
      expect(lines.join() + JSON.stringify(fields)).to.not.contain('hidden')
    }
  })

  const answers: [status: number, type: string, body: string, text: RegExp][] = [
    [404, 'text/html', '<html>', /\/mcp not found \(HTTP 404\)$/],
    [
      403,
      'application/problem+json',
      '{"detail":"the Host is foreign"}',
      /refused the request \(HTTP 403\): the Host is foreign$/,
    ],
    [200, 'text/html', '<html>', /\/mcp is not an MCP endpoint: it answers with text\/html$/],
    [200, 'application/json', '{"a":1}', /before it was complete/],
  ]
  for (const [status, type, body, text] of answers) {
    it(`${status} of ${type} becomes an error that says so`, async () => {
      const endpoint = await scripted((_, res) => {
        res.writeHead(status, { 'Content-Type': type }).end(body)
      })
      const { error } = await new BridgeClient(endpoint.url).call('ping')
      expect(error.code).to.equal(-32603)
      expect(error.message).to.match(text)
    })
  }
})
