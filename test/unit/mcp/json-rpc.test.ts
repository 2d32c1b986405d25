import { expect } from 'chai'
import fc from 'fast-check'
import { parseMessage } from '../../../src/server/mcp/json-rpc.ts'

/** The oracle compares what becomes of each kind with the official SDK. */
describe('parseMessage', () => {
  const request = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const cases: [string, unknown, string][] = [
    ['a request', request, 'request'],
    ['a notification', { jsonrpc: '2.0', method: 'x' }, 'notification'],
    ['a result', { jsonrpc: '2.0', id: 1, result: {} }, 'response'],
    ['an error, whatever is in it', { jsonrpc: '2.0', error: 7 }, 'response'],
    ['null', null, 'invalid'],
    ['a null id', { ...request, id: null }, 'invalid'],
    ['an id beyond 2^53', { ...request, id: 2 ** 53 }, 'invalid'],
  ]
  for (const [name, value, kind] of cases) {
    it(`reads ${name} as ${kind}`, () => {
      expect(parseMessage(value).kind).to.equal(kind)
    })
  }

  it('never throws, whatever JSON arrives', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(parseMessage(value)).to.have.property('kind')
      }),
      { numRuns: 2000 },
    )
  })
})
