import { expect } from 'chai'
import { createGate } from '../../../src/server/artefacts/concurrency.ts'

describe('gate', () => {
  it('lets only so many in, and lets the next in after a failure', async () => {
    const gate = createGate(2)
    let inside = 0
    let most = 0
    const task = async () => {
      most = Math.max(most, ++inside)
      await new Promise(resolve => setImmediate(resolve))
      inside--
      throw new Error('no')
    }
    const results = await Promise.allSettled(Array.from({ length: 9 }, () => gate(task)))
    expect(results.every(result => result.status === 'rejected')).to.equal(true)
    expect(most).to.equal(2)
    expect(await gate(async () => 7)).to.equal(7)
  })
})
