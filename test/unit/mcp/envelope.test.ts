import { expect } from 'chai'
import { checkNotification, checkRequest } from '../../../src/server/mcp/stateless/envelope.ts'
import { stateless, statelessMeta, statelessRequest } from '../../helpers/stateless.ts'

type Headers = Record<string, string | undefined>

const uri = 'scene://current'
const read = statelessRequest('resources/read', { uri })
const list = statelessRequest('resources/list')
const prefix = 'io.modelcontextprotocol/'

const headersOf = (method: string, other: Headers = {}): Headers => ({
  'mcp-protocol-version': stateless,
  'mcp-method': method,
  ...other,
})
const meta = (other: Record<string, unknown>) => ({
  ...list,
  params: { _meta: statelessMeta(other) },
})
const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`

/** The oracle compares the codes of malformed envelopes with those of the official SDK. */
describe('the envelope of a stateless request', () => {
  const listHeaders = headersOf('resources/list')
  const readHeaders = (name: string | undefined) =>
    headersOf('resources/read', { 'mcp-name': name })

  const cases: [title: string, message: any, headers: Headers, code: number | null][] = [
    ['complete', list, listHeaders, null],
    ['a read with its name in base64', read, readHeaders(encoded(uri)), null],
    ['without client info', meta({ clientInfo: undefined }), listHeaders, null],
    ['with a log level', meta({ logLevel: 'error' }), listHeaders, null],

    ['capabilities missing', meta({ clientCapabilities: undefined }), listHeaders, -32602],

    ['a revision that does not exist, without headers', meta({ protocolVersion: 'x' }), {}, -32022],
  ]
  for (const [title, message, headers, code] of cases) {
    it(`${title}: ${code ?? 'accepted'}`, () => {
      const check = checkRequest(headers, message)
      expect(check.ok ? null : check.failure.code).to.equal(code)
    })
  }

  it('names the key that is wrong', () => {
    const check = checkRequest(listHeaders, meta({ clientCapabilities: undefined }))
    expect(check).to.have.nested.property('failure.data.key', `${prefix}clientCapabilities`)
  })

  it('names the versions that are served, and the one that was asked for', () => {
    const check = checkRequest({}, meta({ protocolVersion: '1900-01-01' }))
    expect(check).to.have.deep.nested.property('failure.data', {
      supported: [stateless],
      requested: '1900-01-01',
    })
  })

  it('does not send a long version back whole', () => {
    const check = checkRequest({}, meta({ protocolVersion: 'x'.repeat(100_000) }))
    expect(JSON.stringify(check)).to.have.length.below(1000)
  })
})

describe('the envelope of a stateless notification', () => {
  const cancelled = { method: 'notifications/cancelled', params: {} }
  const claiming = (protocolVersion: unknown) => ({
    ...cancelled,
    params: { _meta: statelessMeta({ protocolVersion }) },
  })
  const cases: [string, { method: string; params: object }, Headers, number | null][] = [
    ['with the version header alone', cancelled, { 'mcp-protocol-version': stateless }, null],
    ['of another version', claiming(stateless), { 'mcp-protocol-version': '2025-11-25' }, -32020],
    [
      'with a header that is not served',
      cancelled,
      { 'mcp-protocol-version': '2099-01-01' },
      -32022,
    ],
  ]
  for (const [title, message, headers, code] of cases) {
    it(`${title}: ${code ?? 'accepted'}`, () => {
      const check = checkNotification(headers, { ...message, params: { ...message.params } })
      expect(check.ok ? null : check.failure.code).to.equal(code)
    })
  }
})
