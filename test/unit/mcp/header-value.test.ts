import { expect } from 'chai'
import fc from 'fast-check'
import { decodeHeaderValue, encodeHeaderValue } from '../../../src/lib/mcp/request-metadata.ts'

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

  it('writes what decodeHeaderValue reads back, and what every header can carry', () => {
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

describe('decodeHeaderValue', () => {
  const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
  const cases: [string, string | null][] = [
    ['scene://current', 'scene://current'],
    [encoded('größe://äöü/世界'), 'größe://äöü/世界'],
    [encoded('=?base64?literal?='), '=?base64?literal?='],
    ['=?base64??=', ''],
    ['=?base64?=', '=?base64?='],
    ['=?BASE64?eA==?=', '=?BASE64?eA==?='],
    ['=?base64?eA?=', null],
    ['=?base64?e-_A?=', null],
    ['=?base64?eA==\n?=', null],
    ['=?base64?/w==?=', null],
    ['gr\xf6\xdfe', null],
  ]
  for (const [value, text] of cases) {
    it(`reads ${JSON.stringify(value)} as ${JSON.stringify(text)}`, () => {
      expect(decodeHeaderValue(value)).to.equal(text)
    })
  }
})
