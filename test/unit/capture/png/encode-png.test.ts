import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { chooseFilter, encodePng } from '../../../../src/server/capture/png/make-picture.ts'
import { filterRows, rowFilters } from '../../../../src/server/capture/png/make-picture.ts'
import { readPng, unfilter } from './read-png.ts'

function picture(width: number, height: number, colour: (x: number, y: number) => number[]) {
  const bytes = new Uint8Array(width * height * 3)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) bytes.set(colour(x, y), (y * width + x) * 3)
  }
  return { bytes, width, height }
}

const slope = picture(64, 64, (x, y) => [x * 4, y * 4, x + y])
const flat = picture(64, 64, (x, y) => (x < 30 && y > 20 ? [60, 60, 60] : [200, 10, 10]))
const noise = { width: 64, height: 64, bytes: new Uint8Array(randomBytes(64 * 64 * 3)) }

describe('encodePng', () => {
  for (const [name, original] of Object.entries({ slope, flat, noise })) {
    it(`keeps every pixel of ${name}`, () => {
      const read = readPng(encodePng(original))
      expect(read).to.include({ width: 64, height: 64 })
      expect(Buffer.compare(read.bytes, original.bytes)).to.equal(0)
    })
  }

  it('keeps every pixel of any picture', () => {
    const any = fc
      .tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }))
      .chain(([width, height]) =>
        fc.record({
          width: fc.constant(width),
          height: fc.constant(height),
          bytes: fc.uint8Array({ minLength: width * height * 3, maxLength: width * height * 3 }),
        }),
      )
    fc.assert(
      fc.property(any, original => {
        const { bytes, width, height } = readPng(encodePng(original))
        expect({ width, height }).to.deep.equal({ width: original.width, height: original.height })
        expect(Buffer.compare(bytes, original.bytes)).to.equal(0)
      }),
    )
  })

  it('chooses its filter by the picture', () => {
    expect(chooseFilter(slope).filter).to.be.oneOf(['sub', 'up', 'paeth'])
    expect(chooseFilter(noise).filter).to.equal('none')
  })

  it('knows about how large the file becomes', () => {
    const { estimatedBytes } = chooseFilter(noise)
    expect(estimatedBytes).to.be.closeTo(encodePng(noise).length, 500)
  })

  it('makes smaller files than without a filter', () => {
    const plain = filterRows(slope.bytes, 64 * 3, 'none', 0, 64)
    expect(encodePng(slope).length).to.be.lessThan(plain.length / 10)
  })
})

describe('filterRows', () => {
  it('writes in parts what it writes at once', () => {
    for (const filter of rowFilters) {
      const whole = filterRows(noise.bytes, 64 * 3, filter, 0, 64)
      const parts = [0, 10, 64]
        .slice(1)
        .map((to, index) => filterRows(noise.bytes, 64 * 3, filter, [0, 10][index] ?? 0, to))
      expect(Buffer.compare(Buffer.concat(parts), whole), filter).to.equal(0)
    }
  })

  for (const [index, filter] of rowFilters.entries()) {
    it(`writes what readers of PNG files undo, with ${filter}`, () => {
      const rows = Buffer.from(filterRows(noise.bytes, 64 * 3, filter, 0, 64))
      const read = unfilter(rows, 64, 64)
      expect([...read.filters]).to.deep.equal([[0, 1, 2, 4][index]])
      expect(Buffer.compare(read.bytes, noise.bytes)).to.equal(0)
    })
  }
})
