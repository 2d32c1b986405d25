import { expect } from 'chai'
import {
  type Ask,
  ask,
  postHeaders,
  RawSession,
  startServer,
  type TestServer,
} from '../../../helpers/mcp.ts'
import {
  stateless,
  statelessHeaders,
  statelessMeta,
  statelessRequest,
} from '../../../helpers/stateless.ts'

describe('the HTTP side of the stateless transport', () => {
  let running: TestServer
  before(async () => (running = await startServer()))
  after(() => running.stop())

  const post = (body: unknown, headers: Record<string, string>) =>
    ask(running.url, { method: 'POST', headers, body: JSON.stringify(body) })

  it('returns 400 and the reason for an incomplete envelope', async () => {
    const request = statelessRequest('resources/list')
    const noHeaders = await post(request, postHeaders)
    expect([noHeaders.status, noHeaders.json.error.code, noHeaders.json.id]).to.deep.equal([
      400, -32020, 1,
    ])
    const headers = statelessHeaders('resources/list')
    const noClaim = await post({ ...request, params: {} }, headers)
    expect([noClaim.status, noClaim.json.error.code, noClaim.json.id]).to.deep.equal([
      400, -32602, 1,
    ])
    const params = { _meta: statelessMeta({ protocolVersion: '2099-01-01' }) }
    const later = await post(
      { ...request, params },
      { ...headers, 'MCP-Protocol-Version': '2099-01-01' },
    )
    expect([later.status, later.json.error.code]).to.deep.equal([400, -32022])
    expect(later.json.error.data).to.deep.equal({ supported: [stateless], requested: '2099-01-01' })
  })

  it('returns 400 without an id for a batch and for invalid messages', async () => {
    const headers = statelessHeaders('resources/list')
    for (const body of [[statelessRequest('resources/list')], [], { jsonrpc: '2.0' }]) {
      const { status, json } = await post(body, headers)
      expect([status, json.error.code]).to.deep.equal([400, -32600])
      expect(json).not.to.have.property('id')
    }
  })

  it('requires Content-Type but not Accept', async () => {
    const body = JSON.stringify(statelessRequest('server/discover'))
    const { Accept: _, ...headers } = statelessHeaders('server/discover')
    expect((await ask(running.url, { method: 'POST', headers, body })).status).to.equal(200)
    const text = { ...headers, 'Content-Type': 'text/plain' }
    expect((await ask(running.url, { method: 'POST', headers: text, body })).status).to.equal(415)
    const other = { ...headers, Accept: 'text/html' }
    expect((await ask(running.url, { method: 'POST', headers: other, body })).status).to.equal(200)
  })

  it('omits the id and session error codes in early refusals', async () => {
    const headers = statelessHeaders('server/discover')
    const body = JSON.stringify(statelessRequest('server/discover'))
    const refused: [number, Ask][] = [
      [415, { method: 'POST', body, headers: { ...headers, 'Content-Type': 'text/plain' } }],
      [415, { method: 'POST', body, headers: { ...headers, 'Content-Encoding': 'gzip' } }],
      [413, { method: 'POST', body: 'x'.repeat(1024 * 1024 + 1), headers }],
      [403, { method: 'POST', body, headers: { ...headers, Origin: 'https://evil.example' } }],
      [400, { method: 'POST', body, headers: { ...headers, 'Mcp-Method': ['ping', 'ping'] } }],
      [405, { method: 'PUT', body, headers }],
    ]
    for (const [expected, asked] of refused) {
      const { status, json } = await ask(running.url, asked)
      expect([status, json.error.code]).to.deep.equal([expected, -32600])
      expect(json).not.to.have.property('id')
      const older = { ...asked.headers, 'MCP-Protocol-Version': '2025-11-25' }
      const before = await ask(running.url, { ...asked, headers: older })
      expect([before.status, before.json.error.code, before.json.id]).to.deep.equal([
        expected,
        -32000,
        null,
      ])
    }
  })

  it('ignores a session id and creates none', async () => {
    for (const id of ['nobody', (await RawSession.open(running.url)).id]) {
      const headers = {
        ...statelessHeaders('server/discover'),
        'Mcp-Session-Id': id,
        'Last-Event-ID': '7',
      }
      const answer = await post(statelessRequest('server/discover'), headers)
      expect(answer.status).to.equal(200)
      expect(answer.headers).not.to.have.property('mcp-session-id')
    }
  })

  it('accepts any notification', async () => {
    for (const method of ['notifications/cancelled', 'notifications/whatever']) {
      const body = { jsonrpc: '2.0', method, params: { requestId: 1 } }
      const { status, text } = await post(body, statelessHeaders(method))
      expect([status, text]).to.deep.equal([202, ''])
    }
    const body = { jsonrpc: '2.0', method: 'notifications/cancelled' }
    const refused = await post(body, statelessHeaders('ping'))
    expect([refused.status, refused.json.error.code]).to.deep.equal([400, -32020])
    expect(refused.json).not.to.have.property('id')
  })

  it('refuses duplicate headers', async () => {
    for (const name of ['Mcp-Method', 'Mcp-Name', 'MCP-Protocol-Version']) {
      const headers: Record<string, string | string[]> = statelessHeaders('resources/read', {
        uri: 'scene://current',
      })
      headers[name] = [String(headers[name]), String(headers[name])]
      const body = JSON.stringify(statelessRequest('resources/read', { uri: 'scene://current' }))
      const { status, json } = await ask(running.url, { method: 'POST', headers, body })
      expect([status, json.error.message]).to.deep.equal([
        400,
        `header "${name.toLowerCase()}" was sent more than once`,
      ])
    }
  })
})
