import { expect } from 'chai'
import { bearerToken } from '../../../src/lib/auth/validate-bearer-token.ts'

describe('bearerToken', () => {
  for (const [header, token] of [
    ['bEARER  a~! ', 'a~!'],
    ['Bearer a b', null],
    ['Bearer abc\n', null],
    ['Bearer ', null],
    ['Basic abc', null],
    [undefined, null],
  ] as const) {
    it(`finds ${token} in ${JSON.stringify(header)}`, () =>
      expect(bearerToken(header)).to.equal(token))
  }
})
