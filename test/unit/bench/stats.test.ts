import { expect } from 'chai'
import { median, medianOf, pairedRatio, quantile, rotate, spread } from '../../../bench/stats.ts'

describe('bench statistics', () => {
  const quantiles: readonly (readonly [number[], number, number])[] = [
    [[3], 0.5, 3],
    [[3, 1, 2], 0.5, 2],
    [[4, 1, 3, 2], 0.5, 2.5],
    [[1, 2, 3, 4, 5], 0, 1],
    [[1, 2, 3, 4, 5], 1, 5],
    [[0, 10], 0.99, 9.9],
  ]
  for (const [values, q, expected] of quantiles) {
    it(`gives ${expected} as the ${q} quantile of ${values}`, () => {
      expect(quantile(values, q)).to.be.closeTo(expected, 1e-9)
    })
  }

  it('gives NaN and leaves the input alone', () => {
    const values = [3, 1, 2]
    expect(median([])).to.be.NaN
    median(values)
    expect(values).to.deep.equal([3, 1, 2])
  })

  it('starts each round with another item', () => {
    const starts = [0, 1, 2, 3, 7].map(by => rotate(['a', 'b', 'c'], by).join(''))
    expect(starts).to.deep.equal(['abc', 'bca', 'cab', 'abc', 'bca'])
    expect(rotate([], 3)).to.deep.equal([])
  })

  it('leaves rounds without a figure out of the spread', () => {
    expect(spread([Number.NaN, 4, 2])).to.deep.equal({ median: 3, min: 2, max: 4 })
    expect(spread([]).median).to.be.NaN
  })

  describe('paired ratio', () => {
    // The machine is ten times slower in the second round: the ratio must not see it.
    const rounds = {
      base: [
        { rps: 1000, us: 10 },
        { rps: 100, us: 100 },
        { rps: 1000, us: 10 },
      ],
      own: [{ rps: 500, us: 20 }, { rps: 50, us: 200 }, undefined],
    }

    it('compares within a round', () => {
      const ratio = { median: 0.5, min: 0.5, max: 0.5 }
      expect(pairedRatio(rounds, 'own', 'base', 'rps', 'ratio')).to.deep.equal(ratio)
    })

    it('turns over figures of which less is better', () => {
      expect(pairedRatio(rounds, 'own', 'base', 'us', 'inverse').median).to.equal(0.5)
      expect(pairedRatio(rounds, 'own', 'base', 'us', 'ratio').median).to.equal(2)
    })

    it('is NaN when server, reference or figure are unknown', () => {
      expect(pairedRatio(rounds, 'other', 'base', 'rps', 'ratio').median).to.be.NaN
      expect(pairedRatio(rounds, 'own', 'other', 'rps', 'ratio').median).to.be.NaN
      expect(pairedRatio(rounds, 'own', 'base', 'other', 'ratio').median).to.be.NaN
    })

    it('takes the median of a figure over the rounds that have it', () => {
      expect(medianOf(rounds, 'own', 'rps')).to.equal(275)
    })
  })
})
