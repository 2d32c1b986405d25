import { expect } from 'chai'
import { readClientLimits } from '../../../src/commands/resources/client.ts'

describe('the bounds of the commands that look at resources', () => {
  it('takes the time for one answer from SERVICE_TIMEOUT, in seconds', () => {
    expect(readClientLimits({ SERVICE_TIMEOUT: '2.5' })).to.include({ answerMs: 2500 })
    expect(readClientLimits({})).to.include({ answerMs: 60_000 })
  })

  it('refuses a SERVICE_TIMEOUT that is not a number of seconds', () => {
    for (const value of ['x', '0', '-1', '3601']) {
      expect(() => readClientLimits({ SERVICE_TIMEOUT: value }), value).to.throw('SERVICE_TIMEOUT')
    }
  })
})
