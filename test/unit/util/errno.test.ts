import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { errnoOf, ServiceError } from '../../../src/lib/util/errors.ts'

describe('errnoOf', () => {
  it('names an error of the system', () => {
    const read = (): unknown => {
      try {
        return readFileSync('/nowhere/at/all')
      } catch (error) {
        return error
      }
    }
    expect(errnoOf(read())).to.equal('ENOENT')
  })

  for (const [what, value] of [
    ['an error of this program', new ServiceError('internal', 'x')],
    ['an error without a code', new Error('x')],
    ['an object', { code: 'ENOENT', errno: -2 }],
    ['nothing', undefined],
  ] as const) {
    it(`is null for ${what}`, () => expect(errnoOf(value)).to.equal(null))
  }
})
