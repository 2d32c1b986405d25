import { expect } from 'chai'
import { fittingReason } from '../../../../src/server/host/link/channel.ts'

describe('the reason of a close', () => {
  it('stays as it is up to 123 bytes', () => {
    for (const reason of ['', 'bye', 'ü'.repeat(61), 'x'.repeat(123)]) {
      expect(fittingReason(reason)).to.equal(reason)
    }
  })

  it('is cut at a character beyond them', () => {
    expect(fittingReason('x'.repeat(124))).to.equal(`${'x'.repeat(120)}…`)
    expect(fittingReason(`a${'ü'.repeat(100)}`)).to.equal(`a${'ü'.repeat(59)}…`)
    expect(fittingReason('😀'.repeat(40))).to.equal(`${'😀'.repeat(30)}…`)
  })
})
