import { expect } from 'chai'
import {
  ask,
  initializeBody,
  postHeaders,
  startServer,
  type TestServer,
} from '../../helpers/mcp.ts'
import { stateless, statelessMeta, statelessRequest } from '../../helpers/stateless.ts'

type Headers = Record<string, string>

const list = statelessRequest('resources/list')
const plain = { jsonrpc: '2.0', id: 1, method: 'resources/list' }
const initialize = JSON.parse(initializeBody())
const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled' }
const protocolVersion = 'io.modelcontextprotocol/protocolVersion'

const headersOf = (method: string, more: Headers = {}): Headers => ({
  'MCP-Protocol-Version': stateless,
  'Mcp-Method': method,
  ...more,
})
const withMeta = (_meta: unknown, message: object = plain) => ({ ...message, params: { _meta } })
const meta = (more: Record<string, unknown>) => withMeta(statelessMeta(more))

/** The oracle compares all others with those of the official SDK. */
describe('the transport and the envelope of a POST', () => {
  let running: TestServer
  before(async () => (running = await startServer()))

  const post = async (body: unknown, headers: Headers) => {
    const all = { ...postHeaders, ...headers }
    return ask(running.url, { method: 'POST', headers: all, body: JSON.stringify(body) })
  }
  const listHeaders = headersOf('resources/list')
  const named = { 'MCP-Protocol-Version': stateless }

  const cases: [title: string, body: unknown, Headers, status: number, code?: number][] = [
    ['a request with a log level', meta({ logLevel: 'error' }), listHeaders, 200],
    ['no headers', list, {}, 400, -32020],
    ['initialize', initialize, {}, 200],
    ['initialize with the header', initialize, named, 400, -32020],
    [
      'initialize with whole _meta',
      withMeta(statelessMeta(), initialize),
      headersOf('initialize'),
      404,
      -32601,
    ],
    [
      'initialize with half of _meta',
      { ...initialize, params: { ...initialize.params, _meta: { [protocolVersion]: stateless } } },
      {},
      200,
    ],
    [
      'a notification of another version than its header',
      withMeta(statelessMeta(), cancelled),
      { 'MCP-Protocol-Version': '2025-11-25' },
      400,
      -32020,
    ],
    ['a batch with one _meta', [plain, list], {}, 400, -32600],
  ]
  for (const [title, body, headers, status, code] of cases) {
    it(`answers ${code ?? status} to ${title}`, async () => {
      const answer = await post(body, headers)
      expect([answer.status, answer.json?.error?.code]).to.deep.equal([status, code])
    })
  }

  it('names the key that is wrong, and keeps the id', async () => {
    const { json } = await post(
      { ...meta({ clientCapabilities: undefined }), id: 'a' },
      listHeaders,
    )
    expect(json.error.data.key).to.equal('io.modelcontextprotocol/clientCapabilities')
    expect(json.id).to.equal('a')
  })

  it('names the versions that are served, and the start of the one that was asked for', async () => {
    const { json } = await post(meta({ protocolVersion: '1900-01-01' }), {})
    expect(json.error.data).to.deep.equal({ supported: [stateless], requested: '1900-01-01' })
    const long = await post(meta({ protocolVersion: 'x'.repeat(100_000) }), {})
    expect(long.text).to.have.length.below(1000)
  })
})
