import { expect } from 'chai'
import { WeighedCache } from '../../../src/server/artefacts/blob-loader.ts'

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
