import { expect } from 'chai'
import { classify } from '../../../src/server/mcp/classify-request.ts'
import { parseBody } from '../../../src/server/mcp/json-rpc.ts'
import { initializeBody } from '../../helpers/mcp.ts'
import { stateless, statelessMeta, statelessRequest } from '../../helpers/stateless.ts'

/** The transport, or the code of the refusal. */
type Expected = 'session' | 'stateless' | number

const request = { jsonrpc: '2.0', id: 1, method: 'resources/list' }
const claiming = statelessRequest('resources/list')
const withMeta = (meta: unknown, other: object = request) => ({ ...other, params: { _meta: meta } })
const initialize = JSON.parse(initializeBody())
const notification = { jsonrpc: '2.0', method: 'notifications/cancelled' }

describe('the transport of a POST', () => {
  const cases: [title: string, body: unknown, version: string | undefined, Expected][] = [
    ['a request without a claim and an older header', request, '2025-11-25', 'session'],
    ['a request without a claim and a header of its revision', request, stateless, -32602],
    ['a request with a claim', claiming, stateless, 'stateless'],
    ['a request with a claim and no header', claiming, undefined, 'stateless'],
    [
      'a request that claims an older revision',
      withMeta(statelessMeta({ protocolVersion: '2025-11-25' })),
      undefined,
      'stateless',
    ],
    ['_meta with other members, header of the transport', withMeta({ a: 1 }), stateless, -32602],

    ['initialize', initialize, undefined, 'session'],
    ['initialize with a header of its revision', initialize, stateless, -32020],
    [
      'initialize with a whole claim',
      withMeta(statelessMeta(), initialize),
      stateless,
      'stateless',
    ],
    [
      'initialize with half a claim',
      withMeta({ [key('protocolVersion')]: stateless }, initialize),
      undefined,
      'session',
    ],

    ['a notification with a header of its revision', notification, stateless, 'stateless'],
    [
      'a notification with a claim',
      withMeta(statelessMeta(), notification),
      undefined,
      'stateless',
    ],

    ['a batch', [request, notification], undefined, 'session'],
    ['a batch with a header of its revision', [request], stateless, -32600],
    ['a batch with one claim in it', [request, claiming], undefined, -32600],

    [
      'an id that cannot be echoed, and the header',
      { ...claiming, id: 2 ** 53 },
      stateless,
      -32600,
    ],
    ['no JSON, header of the transport', '{', stateless, -32700],
    ['no UTF-8, header of the transport', Buffer.from([0x22, 0xff, 0x22]), stateless, -32700],
    ['a nesting too deep, header of the transport', '['.repeat(70), stateless, -32600],
  ]
  for (const [title, body, version, expected] of cases) {
    it(`${title}: ${expected}`, () => {
      const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
      expect(judge(bytes, version)).to.equal(expected)
    })
  }

  it('keeps the id of what it refuses, where there is one', () => {
    const inbound = parseBody(Buffer.from(JSON.stringify({ ...request, id: 'a' })), 64)
    const refused = classify({ 'mcp-protocol-version': stateless }, inbound)
    expect(refused).to.include({ transport: 'none', id: 'a' })
  })
})

function key(name: string): string {
  return `io.modelcontextprotocol/${name}`
}

function judge(body: string | Buffer, version: string | undefined): Expected {
  const headers = version === undefined ? {} : { 'mcp-protocol-version': version }
  const classified = classify(headers, parseBody(Buffer.from(body), 64))
  return classified.transport === 'none' ? classified.error.code : classified.transport
}
