import { expect } from 'chai'
import { failureOf } from '../../../../src/lib/mcp/client/failure.ts'

describe('failureOf', () => {
  const uri = 'capture://current_window'
  const facts = {
    url: new URL('http://127.0.0.1:8765/mcp'),
    method: 'resources/read',
    uri,
    keyed: false,
    maxAnswerBytes: 1000,
  }
  const answers = [
    { code: -32002, becomes: 'resource_not_found' },
    { code: -32602, becomes: 'resource_not_found' },
    { code: -32603, becomes: 'resource_failed' },
    { code: -32000, becomes: 'request_refused' },
  ]
  for (const { code, becomes } of answers) {
    it(`passes on what the server says is to be done about ${code}`, () => {
      const data = { uri, hint: 'link\u001b[31m one\n(service-cli adapter)' }
      const error = failureOf({ kind: 'error', error: { code, message: 'no', data } }, facts)
      expect(error.code).to.equal(becomes)
      expect(error.hint).to.equal('link one (service-cli adapter)')
    })

    it(`says nothing of its own about ${code} when the server does not`, () => {
      const data = { uri, hint: 7 }
      const error = failureOf({ kind: 'error', error: { code, message: 'no', data } }, facts)
      expect(error.hint).to.equal(undefined)
    })
  }

  const notFound: [says: string, message: string][] = [
    [`no resource at ${uri}; read scene://current`, `${uri} not found: read scene://current`],
    [`no resource at ${uri}`, `${uri} not found`],
    ['Resource not found', `${uri} not found`],
    [`Resource not found: ${uri}`, `${uri} not found`],
    [`resource not enabled: ${uri}`, `${uri} not enabled`],
    ['maya has ended; cause: killed', `${uri} not found: maya has ended; cause: killed`],
  ]
  for (const [says, message] of notFound) {
    it(`shows of "${says}" what is beside the URI`, () => {
      const error = { code: -32602, message: says, data: { uri } }
      expect(failureOf({ kind: 'error', error }, facts).message).to.equal(`resource ${message}`)
    })
  }

  const refused = (status: number, headers: Record<string, string> = {}) =>
    ({ kind: 'refused', status, headers, body: Buffer.alloc(0) }) as const
  const outcomes: [answer: Parameters<typeof failureOf>[0], code: string, says: RegExp][] = [
    [refused(401), 'auth_required', /requires a key or token .*: set SERVICE_MCP_API_KEY/],
    [
      { ...refused(401), body: Buffer.from('{"error_description":"a token is required"}') },
      'auth_required',
      /requires a key or token \(HTTP 401\): a token is required: set SERVICE_MCP_API_KEY/,
    ],
    [refused(404), 'request_refused', /has no MCP endpoint \(HTTP 404\): $/],
    [
      refused(429, { 'retry-after': '7' }),
      'rate_limited',
      /is busy \(HTTP 429\): try again in 7 s$/,
    ],
    [refused(429), 'rate_limited', /is busy \(HTTP 429\): $/],
    [refused(503), 'network_failed', /answered with HTTP 503: $/],
    [{ kind: 'broken', reason: 'it is away' }, 'network_failed', /cannot be reached: it is away/],
    [{ kind: 'oversize' }, 'artefact_too_large', /larger than 1000 bytes: .*artefacts get URI$/],
    [
      { kind: 'missing' },
      'resource_failed',
      /ended its answer to resources\/read without a message/,
    ],
    [{ kind: 'aborted' }, 'cancelled', /^cancelled: $/],
    [
      { kind: 'error', error: { code: -32601, message: 'no' } },
      'request_refused',
      /does not know resources\/read: it may offer only tools/,
    ],
  ]
  for (const [answer, code, says] of outcomes) {
    it(`is ${code} and says ${says.source}`, () => {
      const error = failureOf(answer, facts)
      expect(error.code).to.equal(code)
      expect(`${error.message}: ${error.hint ?? ''}`).to.match(says)
    })
  }

  it('says that the key is not accepted where one was sent', () => {
    const error = failureOf(refused(401), { ...facts, keyed: true })
    expect(error).to.include({ code: 'auth_refused' })
    expect(error.message).to.contain('does not accept the key or token')
  })
})
