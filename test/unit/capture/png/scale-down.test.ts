import { expect } from 'chai'
import fc from 'fast-check'
import { scaleDown } from '../../../../src/server/capture/png/scale-down.ts'

/** A picture of greys. */
function greys(width: number, height: number, ...values: number[]) {
  return { width, height, bytes: Uint8Array.from(values.flatMap(value => [value, value, value])) }
}

const greysOf = ({ bytes }: { bytes: Uint8Array }): number[] =>
  [...bytes].filter((_, index) => index % 3 === 0)

describe('scaleDown', () => {
  it('gives the same picture when it is narrow enough', () => {
    const picture = greys(2, 1, 0, 255)
    expect(scaleDown(picture, 2)).to.equal(picture)
    expect(scaleDown(picture, 900)).to.equal(picture)
  })

  it('gives the mean of four pixels for each', () => {
    const scaled = scaleDown(greys(4, 2, 0, 10, 100, 100, 20, 30, 100, 104), 2)
    expect(scaled).to.include({ width: 2, height: 1 })
    expect(greysOf(scaled)).to.deep.equal([15, 101])
  })

  it('divides a pixel between two', () => {
    // Each new pixel covers one and a half old ones.
    expect(greysOf(scaleDown(greys(3, 1, 0, 90, 240), 2))).to.deep.equal([30, 190])
  })

  it('keeps colours apart', () => {
    const picture = { width: 2, height: 1, bytes: Uint8Array.from([255, 0, 10, 0, 255, 30]) }
    expect([...scaleDown(picture, 1).bytes]).to.deep.equal([128, 128, 20])
  })

  it('keeps at least one row', () => {
    expect(scaleDown(greys(9, 1, ...Array<number>(9).fill(7)), 1)).to.include({ height: 1 })
  })

  it('leaves one colour as it is, for any size', () => {
    const sizes = fc.record({
      width: fc.integer({ min: 1, max: 60 }),
      height: fc.integer({ min: 1, max: 60 }),
      to: fc.integer({ min: 1, max: 60 }),
      grey: fc.nat(255),
    })
    fc.assert(
      fc.property(sizes, ({ width, height, to, grey }) => {
        const picture = greys(width, height, ...Array<number>(width * height).fill(grey))
        const scaled = scaleDown(picture, to)
        expect(scaled.bytes).to.have.length(scaled.width * scaled.height * 3)
        expect(new Set(scaled.bytes)).to.deep.equal(new Set([grey]))
      }),
    )
  })

  it('keeps the mean of the whole', () => {
    const sizes = fc.tuple(fc.integer({ min: 2, max: 30 }), fc.integer({ min: 1, max: 30 }))
    const grey = fc.array(fc.nat(255), { minLength: 900, maxLength: 900 })
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    fc.assert(
      fc.property(sizes, grey, ([width, to], values) => {
        const picture = greys(width, width, ...values.slice(0, width * width))
        const scaled = scaleDown(picture, to)
        expect(mean(greysOf(scaled))).to.be.closeTo(mean(greysOf(picture)), 0.6)
      }),
    )
  })
})
