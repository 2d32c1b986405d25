import { expect } from 'chai'
import { isStateless, statelessHeaders } from '../../../../src/lib/mcp/bridge/own-request.ts'

const version = 'io.modelcontextprotocol/protocolVersion'

describe('statelessHeaders', () => {
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
