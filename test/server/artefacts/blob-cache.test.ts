import { expect } from 'chai'
import { createGate, WeighedCache } from '../../../src/server/artefacts/blob-cache.ts'

describe('weighed cache', () => {
  it('drops the least recently used beyond its bytes, and never holds one too heavy', () => {
    const cache = new WeighedCache<string>(10)
    cache.set('a', 'A', 4)
    cache.set('b', 'B', 4)
    cache.get('a')
    cache.set('c', 'C', 4)
    cache.set('d', 'D', 11)
    const held = () => ['a', 'b', 'c', 'd'].filter(key => cache.get(key) !== undefined)
    expect(held()).to.deep.equal(['a', 'c'])
    cache.set('a', 'A', 6)
    expect(held()).to.deep.equal(['a', 'c'])
    cache.delete('c')
    cache.set('b', 'B', 4)
    expect(held()).to.deep.equal(['a', 'b'])
  })
})

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
