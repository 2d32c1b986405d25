import { expect } from 'chai'
import { retryDelay } from '../../../src/lib/util/time.ts'

describe('retryDelay', () => {
  const table: [attempt: number, random: number, delayMs: number][] = [
    [0, 0.5, 250],
    [1, 0.5, 500],
    [2, 0.5, 1000],
    [5, 0.5, 8000],
    [6, 0.5, 10_000],
    [5000, 0.5, 10_000],
    [0, 0, 200],
    [0, 1, 300],
    [6, 0, 8000],
    [6, 1, 12_000],
  ]
  for (const [attempt, random, delayMs] of table) {
    it(`is ${delayMs} ms at attempt ${attempt} with ${random}`, () => {
      expect(retryDelay(attempt, () => random)).to.equal(delayMs)
    })
  }
})
