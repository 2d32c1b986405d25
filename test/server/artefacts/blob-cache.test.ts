import { expect } from 'chai'
import { BlobCache, createGate } from '../../../src/server/artefacts/blob-cache.ts'

describe('blob cache', () => {
  it('drops the least recently used beyond its bytes, and never holds one too large', () => {
    const cache = new BlobCache(10)
    const blob = (bytes: number) => ({ mime: 'a/b', base64: new Uint8Array(bytes), contents: [] })
    cache.set('a', blob(4))
    cache.set('b', blob(4))
    cache.get('a')
    cache.set('c', blob(4))
    cache.set('d', blob(11))
    const held = () => ['a', 'b', 'c', 'd'].filter(hex => cache.get(hex) !== undefined)
    expect(held()).to.deep.equal(['a', 'c'])
    cache.set('a', blob(6))
    expect(held()).to.deep.equal(['a', 'c'])
    cache.delete('c')
    cache.set('b', blob(4))
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
