import { expect } from 'chai'
import fc from 'fast-check'
import {
  isBlank,
  type PixelLayout,
  rgbaLayout,
  toRgb,
} from '../../../../src/server/capture/png/pixels.ts'

const layout = (
  bytesPerPixel: 2 | 3 | 4,
  order: 'little' | 'big',
  red: number,
  green: number,
  blue: number,
): PixelLayout => ({ bytesPerPixel, order, red, green, blue })

/** One pixel of red 1, green 2, blue 3, or what is nearest to it. */
function onePixel(pixel: PixelLayout, ...bytes: number[]): number[] | string {
  const raw = { bytes: Uint8Array.from(bytes), width: 1, height: 1, stride: bytes.length }
  const rgb = toRgb({ ...raw, layout: pixel })
  return rgb.ok ? [...rgb.value.bytes] : rgb.failure
}

describe('toRgb', () => {
  const cases: [name: string, layout: PixelLayout, bytes: number[], expected: number[]][] = [
    ['RGBA', rgbaLayout, [1, 2, 3, 0], [1, 2, 3]],
    ['BGRX', layout(4, 'little', 0xff0000, 0xff00, 0xff), [3, 2, 1, 9], [1, 2, 3]],
    ['XRGB', layout(4, 'big', 0xff0000, 0xff00, 0xff), [9, 1, 2, 3], [1, 2, 3]],
    ['ABGR', layout(4, 'big', 0xff, 0xff00, 0xff0000), [9, 3, 2, 1], [1, 2, 3]],
    [
      'red in the highest byte',
      layout(4, 'little', 0xff000000, 0xff0000, 0xff00),
      [9, 3, 2, 1],
      [1, 2, 3],
    ],
    ['BGR', layout(3, 'little', 0xff0000, 0xff00, 0xff), [3, 2, 1], [1, 2, 3]],
    ['565, all on', layout(2, 'little', 0xf800, 0x7e0, 0x1f), [0xff, 0xff], [255, 255, 255]],
    ['565, red', layout(2, 'little', 0xf800, 0x7e0, 0x1f), [0x00, 0xf8], [255, 0, 0]],
    [
      '565, half green, highest byte first',
      layout(2, 'big', 0xf800, 0x7e0, 0x1f),
      [0x04, 0x00],
      [0, 130, 0],
    ],
    [
      'ten bits a colour',
      layout(4, 'little', 0x3ff00000, 0xffc00, 0x3ff),
      [0xff, 0x03, 0x00, 0x20],
      [128, 0, 255],
    ],
  ]
  for (const [name, pixel, bytes, expected] of cases) {
    it(`reads ${name}`, () => expect(onePixel(pixel, ...bytes)).to.deep.equal(expected))
  }

  it('passes over what fills a row up', () => {
    const bytes = Uint8Array.from([1, 2, 3, 9, 9, 4, 5, 6])
    const blueLast = layout(3, 'little', 0xff, 0xff00, 0xff0000)
    const rgb = toRgb({ bytes, width: 1, height: 2, stride: 5, layout: blueLast })
    expect(rgb.ok && [...rgb.value.bytes]).to.deep.equal([1, 2, 3, 4, 5, 6])
  })

  for (const [name, raw] of [
    ['without pixels', { width: 0 }],
    ['cut short', { height: 3 }],
    ['with rows shorter than its width', { stride: 7 }],
    ['without red', { layout: { ...rgbaLayout, red: 0 } }],
    ['with a colour in two places', { layout: { ...rgbaLayout, red: 0x10001 } }],
  ] as const) {
    it(`refuses a picture ${name}`, () => {
      const bytes = new Uint8Array(16)
      const rgb = toRgb({ bytes, width: 2, height: 2, stride: 8, layout: rgbaLayout, ...raw })
      expect(rgb.ok).to.equal(false)
    })
  }

  it('never throws, and gives three bytes a pixel or a reason', () => {
    const mask = fc.oneof(fc.constantFrom(0xff, 0xff00, 0xff0000, 0xf800), fc.nat(2 ** 32 - 1))
    const raw = fc.record({
      bytes: fc.uint8Array({ maxLength: 200 }),
      width: fc.integer({ min: -1, max: 8 }),
      height: fc.integer({ min: -1, max: 8 }),
      stride: fc.integer({ min: -1, max: 40 }),
      layout: fc.record({
        bytesPerPixel: fc.constantFrom(2, 3, 4),
        order: fc.constantFrom('little', 'big'),
        red: mask,
        green: mask,
        blue: mask,
      }),
    })
    fc.assert(
      fc.property(raw, picture => {
        const rgb = toRgb(picture)
        if (rgb.ok) expect(rgb.value.bytes).to.have.length(picture.width * picture.height * 3)
        else expect(rgb.failure).to.not.equal('')
      }),
    )
  })
})

describe('isBlank', () => {
  for (const [bytes, expected] of [
    [[1, 2, 3], true],
    [[1, 2, 3, 1, 2, 3], true],
    [[1, 2, 3, 1, 2, 4], false],
    [[1, 2, 3, 1, 3, 3], false],
    [[1, 2, 3, 2, 2, 3], false],
  ] as const) {
    it(`says ${expected} for ${bytes.join(' ')}`, () => {
      const picture = { bytes: Uint8Array.from(bytes), width: bytes.length / 3, height: 1 }
      expect(isBlank(picture)).to.equal(expected)
    })
  }
})
