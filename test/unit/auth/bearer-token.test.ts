import { expect } from 'chai'
import { bearerToken } from '../../../src/lib/auth/validate-bearer-token.ts'

describe('bearerToken', () => {
  for (const [header, token] of [
    ['Bearer abc', 'abc'],
    ['bEARER  a~!', 'a~!'],
    ['Bearer abc ', 'abc'],
    ['Bearer a b', null],
    ['Bearer ä', null],
    ['Bearer abc\n', null],
    ['Bearer ', null],
    ['Bearerabc', null],
    ['Basic abc', null],
    ['abc', null],
    ['', null],
    [undefined, null],
  ] as const) {
    it(`finds ${token} in ${JSON.stringify(header)}`, () => {
      expect(bearerToken(header)).to.equal(token)
    })
  }
})
