import { expect } from 'chai'
import { parseRfc3339, toRfc3339, retryDelay } from '../../../src/lib/util/time.ts'

describe('parseRfc3339', () => {
  const cases: [text: string, time: string | null][] = [
    ['2026-03-04T05:06:07.5z', '2026-03-04T05:06:07.500Z'],
    ['2026-03-04 05:06:07.123456789+01:00', '2026-03-04T04:06:07.123Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['2026-02-28T23:30:00-01:00', '2026-03-01T00:30:00.000Z'],
    ['2026-02-30T00:00:00Z', null],
    ['2026-13-01T00:00:00Z', null],
    ['2026-03-04T05:06:07.1234567890Z', null],
    ['2026-03-04T25:00:00Z', null],
    ['2026-03-04T05:06:07', null],
    ['2026-03-04', null],
    ['', null],
  ]
  for (const [text, time] of cases) {
    it(`${time === null ? 'refuses' : 'reads'} "${text}"`, () => {
      const timeMs = parseRfc3339(text)
      expect(timeMs === null ? null : toRfc3339(timeMs)).to.equal(time)
    })
  }
})

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
