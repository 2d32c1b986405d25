import { expect } from 'chai'
import fc from 'fast-check'
import { prettyJson } from '../../../src/lib/cli/pretty-json.ts'

describe('prettyJson', () => {
  it('keeps numbers, strings and order as they were written', () => {
    const text =
      '{"b":1.50,"10":12345678901234567890,"a":["{ , : }","\\"[",{"x":[0.0,1e5]}],"e":{}}'
    const lines = `{
  "b": 1.50,
  "10": 12345678901234567890,
  "a": [
    "{ , : }",
    "\\"[",
    {
      "x": [0.0, 1e5]
    }
  ],
  "e": {}
}`
    expect(prettyJson(text)).to.equal(lines)
  })

  it('says the same as before', () => {
    fc.assert(
      fc.property(fc.json(), text => {
        expect(JSON.parse(prettyJson(text))).to.deep.equal(JSON.parse(text))
      }),
    )
  })
})
