import { expect } from 'chai'
import { NeedleCounter } from '../../../bench/load/needle-counter.ts'

function countInPieces(needle: string, text: string, size: number): number {
  const counter = new NeedleCounter(Buffer.from(needle))
  let count = 0
  for (let at = 0; at < text.length; at += size) {
    count += counter.feed(Buffer.from(text.slice(at, at + size)))
  }
  return count
}

describe('bench needle counter', () => {
  const cases: readonly (readonly [needle: string, text: string, count: number])[] = [
    ['updated', '', 0],
    ['updated', 'update', 0],
    ['updated', 'xx updated updupdated updated', 3],
    ['aab', 'aaab aab ab aaaab', 3],
    ['aa', 'aaaaa', 2],
  ]
  for (const [needle, text, count] of cases) {
    for (const size of [1, 2, 3, 5, 100]) {
      it(`counts ${count} of "${needle}" in "${text}" in pieces of ${size}`, () => {
        expect(countInPieces(needle, text, size)).to.equal(count)
      })
    }
  }
})
