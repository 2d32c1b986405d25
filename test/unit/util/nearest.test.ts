import { expect } from 'chai'
import { nearest } from '../../../src/lib/util/text.ts'

describe('nearest', () => {
  const known = ['maxSessions', 'maxSubscriptions', 'pageSize']
  const cases: [word: string, expected: string | undefined][] = [
    ['maxSesions', 'maxSessions'],
    ['maxsessions', 'maxSessions'],
    ['max-sessions', 'maxSessions'],
    ['pagesiez', 'pageSize'],
    ['colour', undefined],
    ['', undefined],
  ]
  for (const [word, expected] of cases) {
    it(`finds ${expected} for "${word}"`, () => {
      expect(nearest(word, known)).to.equal(expected)
    })
  }
})
