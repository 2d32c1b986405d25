import { expect } from 'chai'
import fc from 'fast-check'
import {
  encodeHeaderValue,
  isStateless,
  statelessHeaders,
} from '../../../src/lib/stdio-bridge/request-headers.ts'
import { decodeHeaderValue } from '../../../src/server/mcp/modern/header-value.ts'

const version = 'io.modelcontextprotocol/protocolVersion'

describe('encodeHeaderValue', () => {
  // The examples of the specification ("Value Encoding").
  const table: [value: string, header: string][] = [
    ['us-west1', 'us-west1'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['', '=?base64??='],
    ['scene://current', 'scene://current'],
  ]
  for (const [value, header] of table) {
    it(`writes ${JSON.stringify(value)} as ${header}`, () => {
      expect(encodeHeaderValue(value)).to.equal(header)
    })
  }

  it('writes what the server reads back, and what every header can carry', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), value => {
        const header = encodeHeaderValue(value)
        expect(header).to.match(/^[\t\x20-\x7e]*$/)
        expect(header.trim()).to.equal(header)
        expect(decodeHeaderValue(header)).to.equal(value)
      }),
    )
  })
})

describe('statelessHeaders', () => {
  const _meta = { [version]: '2026-07-28' }
  const table: [method: string, params: object, headers: object][] = [
    ['server/discover', {}, {}],
    ['resources/read', { uri: 'scene://current' }, { 'Mcp-Name': 'scene://current' }],
    ['resources/read', { uri: 'a://é' }, { 'Mcp-Name': '=?base64?YTovL8Op?=' }],
    ['resources/read', { uri: 7 }, {}],
    ['resources/subscribe', { uri: 'a://b' }, {}],
    ['tools/call', { name: 'render', uri: 'a://b' }, { 'Mcp-Name': 'render' }],
    ['prompts/get', { name: 'p' }, { 'Mcp-Name': 'p' }],
  ]
  for (const [method, params, headers] of table) {
    it(`repeats what ${method} of ${JSON.stringify(params)} says`, () => {
      expect(statelessHeaders(method, { ...params, _meta })).to.deep.equal({
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': method,
        ...headers,
      })
    })
  }

  it('leaves out what no header can carry', () => {
    expect(statelessHeaders('a\r\nX: y', { _meta: { [version]: 'a\nb' } })).to.deep.equal({})
    expect(statelessHeaders('ping', { _meta: { [version]: 7 } })).to.deep.equal({
      'Mcp-Method': 'ping',
    })
  })
})

describe('isStateless', () => {
  const table: [params: object, stateless: boolean][] = [
    [{}, false],
    [{ _meta: null }, false],
    [{ _meta: { progressToken: 1 } }, false],
    [{ _meta: { [version]: '2026-07-28' } }, true],
    // Wrong, and for the server to say so.
    [{ _meta: { [version]: 7 } }, true],
  ]
  for (const [params, stateless] of table) {
    it(`is ${stateless} for ${JSON.stringify(params)}`, () => {
      expect(isStateless(params as never)).to.equal(stateless)
    })
  }
})
