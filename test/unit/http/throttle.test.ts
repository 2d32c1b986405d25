import { expect } from 'chai'
import { throttle } from '../../../src/server/http/listen.ts'

describe('rarely', () => {
  it('acts at once, then not before the time is over', () => {
    let now = 5
    const acted: string[] = []
    const act = throttle(
      1000,
      (word: string) => void acted.push(word),
      () => now,
    )
    const steps: [at: number, word: string][] = [
      [5, 'first'],
      [5, 'at once again'],
      [1004, 'just before'],
      [1005, 'second'],
      [2004, 'just before'],
      [9000, 'third'],
    ]
    for (const [at, word] of steps) {
      now = at
      act(word)
    }
    expect(acted).to.deep.equal(['first', 'second', 'third'])
  })
})
