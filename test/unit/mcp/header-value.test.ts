import { expect } from 'chai'
import fc from 'fast-check'
import { encodeHeaderValue, isHeaderOf } from '../../../src/lib/mcp/request-metadata.ts'

describe('encodeHeaderValue', () => {
  // The examples of the specification ("Value Encoding").
  const table: [value: string, header: string][] = [
    ['us-west1', 'us-west1'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ]
  for (const [value, header] of table) {
    it(`writes ${JSON.stringify(value)} as ${header}`, () => {
      expect(encodeHeaderValue(value)).to.equal(header)
    })
  }

  it('writes what isHeaderOf knows again, and what every header can carry', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), value => {
        const header = encodeHeaderValue(value)
        expect(header).to.match(/^[\t\x20-\x7e]*$/)
        expect(header.trim()).to.equal(header)
        expect(isHeaderOf(value, header)).to.equal(true)
      }),
    )
  })
})

describe('isHeaderOf', () => {
  const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
  const cases: [header: string, value: string, isIt: boolean][] = [
    ['scene://current', 'scene://current', true],
    [encoded('scene://current'), 'scene://current', true],
    [encoded('größe://äöü/世界'), 'größe://äöü/世界', true],
    [encoded('=?base64?literal?='), '=?base64?literal?=', true],
    ['=?base64?literal?=', '=?base64?literal?=', false],
    ['=?base64??=', '', true],
    ['=?base64?=', '=?base64?=', true],
    ['=?BASE64?eA==?=', '=?BASE64?eA==?=', true],
    ['=?BASE64?eA==?=', 'x', false],
    ['=?base64?eA?=', 'x', false],
    ['=?base64?eA==\n?=', 'x', false],
    ['größe', 'größe', false],
    ['a', 'b', false],
  ]
  for (const [header, value, isIt] of cases) {
    it(`is ${isIt} for ${JSON.stringify(header)} and ${JSON.stringify(value)}`, () => {
      expect(isHeaderOf(value, header)).to.equal(isIt)
    })
  }
})
