import { expect } from 'chai'
import { parseRfc3339, toRfc3339 } from '../../../src/lib/util/time.ts'

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
