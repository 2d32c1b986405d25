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
})
