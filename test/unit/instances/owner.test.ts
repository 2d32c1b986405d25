import { expect } from 'chai'
import { isDead } from '../../../src/lib/instances/instance.ts'

describe('isDead', () => {
  for (const [recorded, running, now, dead] of [
    [null, false, null, true],
    ['a', false, null, true],
    ['a', true, 'a', false],
    ['a', true, 'b', true],
    ['a', true, null, false],
    [null, true, 'b', false],
  ] as const) {
    it(`is ${dead} for a start ${recorded}, running ${running}, started ${now}`, () => {
      expect(isDead(recorded, running, now)).to.equal(dead)
    })
  }
})
