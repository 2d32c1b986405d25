import { expect } from 'chai'
import fc from 'fast-check'
import { memberText } from '../../../../src/server/host/link/member-text.ts'

describe('memberText', () => {
  const cases: [json: string, text: string | undefined][] = [
    [' { "a" : 1.50 } ', '1.50'],
    ['{"a":12345678901234567890,"b":2}', '12345678901234567890'],
    ['{"b":{"a":2},"a":{"2":0,"1":0}}', '{"2":0,"1":0}'],
    ['{"b":"\\"a\\":3","a":"x\\\\"}', '"x\\\\"'],
    ['{"a":1,"a":null}', 'null'],
    ['{"\\u0061":true}', 'true'],
    ['{"b":1}', undefined],
  ]
  for (const [json, text] of cases) {
    it(`finds ${text} in ${json}`, () => expect(memberText(json, 'a')).to.equal(text))
  }

  it('finds in any object what parsing finds', () => {
    const spaces = fc.constantFrom(0, 1, '\t')
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), spaces, (object, space) => {
        const json = JSON.stringify(object, null, space)
        for (const [name, value] of Object.entries(JSON.parse(json) as object)) {
          expect(JSON.parse(memberText(json, name) ?? 'null')).to.deep.equal(value)
        }
      }),
    )
  })
})
