import { expect } from 'chai'
import { durationText, expiryText, sizeText } from '../../../src/lib/util/amounts.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

describe('sizeText', () => {
  const cases: [bytes: number, text: string][] = [
    [999, '999 B'],
    [1000, '1.0 kB'],
    [9_960, '10 kB'],
    [999_499, '999 kB'],
    [999_600, '1.0 MB'],
    [2 ** 53, '9.0 PB'],
  ]
  for (const [bytes, text] of cases) {
    it(`is ${text} for ${bytes}`, () => expect(sizeText(bytes)).to.equal(text))
  }
})

describe('durationText', () => {
  const cases: [durationMs: number, text: string][] = [
    [-5, '0 s'],
    [59_999, '59 s'],
    [hour - 1, '59 min'],
    [3 * hour + 12 * minute + 59_000, '3 h 12 min'],
    [5 * hour, '5 h'],
    [day, '1 day'],
    [2 * day - 1, '2 days'],
    [90 * day - 1000, '90 days'],
  ]
  for (const [durationMs, text] of cases) {
    it(`is ${text} for ${durationMs} ms`, () => expect(durationText(durationMs)).to.equal(text))
  }
})

describe('expiryText', () => {
  it('says how long is left, or how long ago it was', () => {
    expect(expiryText(3 * hour + 12 * minute, 0)).to.equal('expires in 3 h 12 min')
    expect(expiryText(0, 2 * day)).to.equal('expired 2 days ago')
    expect(expiryText(0, 2 * day, 'end')).to.equal('ended 2 days ago')
    expect(expiryText(1000, 1000)).to.equal('expired 0 s ago')
  })
})
