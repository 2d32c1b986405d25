import { randomFillSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { PNG } from 'pngjs'
import { encodePng, makePicture, rowFilters } from '../../../src/server/capture/png/make-picture.ts'
import { createPictureMaker } from '../../../src/server/capture/png/picture-maker.ts'
import {
  type PixelLayout,
  type RawPicture,
  rgbaLayout,
  toRgb,
} from '../../../src/server/capture/png/pixels.ts'
import { scaleDown } from '../../../src/server/capture/png/scale-down.ts'

function picture(width: number, height: number, colour: (x: number, y: number) => number[]) {
  const bytes = new Uint8Array(width * height * 3)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) bytes.set(colour(x, y), (y * width + x) * 3)
  }
  return { bytes, width, height }
}

function noise(width: number, height: number): RawPicture {
  const bytes = randomFillSync(new Uint8Array(width * height * 4))
  return { bytes, width, height, stride: width * 4, layout: rgbaLayout }
}

/** What another program reads in a PNG file. */
function readPng(png: Buffer) {
  const { width, height, data } = PNG.sync.read(png)
  return { width, height, bytes: data.filter((_, index) => index % 4 !== 3) }
}

describe('encodePng', () => {
  const slope = picture(64, 64, (x, y) => [x * 4, y * 4, x + y])
  const flat = picture(64, 64, (x, y) => (x < 30 && y > 20 ? [60, 60, 60] : [200, 10, 10]))
  const rough = { width: 64, height: 64, bytes: randomFillSync(new Uint8Array(64 * 64 * 3)) }

  for (const [name, original] of Object.entries({ slope, flat, rough })) {
    it(`keeps every pixel of a ${name} picture, whatever filter it takes`, () => {
      for (const filter of [undefined, ...rowFilters]) {
        const read = readPng(encodePng(original, filter))
        expect(read).to.include({ width: 64, height: 64 })
        expect(Buffer.compare(read.bytes, original.bytes), filter).to.equal(0)
      }
    })
  }
})

describe('makePicture', () => {
  const form = { maxWidth: 4096, maxBytes: 1e6, maxRounds: 8 }

  it('keeps every pixel when nothing asks for less', () => {
    const raw = noise(40, 30)
    const made = makePicture(raw, form)
    if (!made.ok) throw new Error(made.failure.message)
    expect(made.value).to.include({ width: 40, height: 30 })
    const expected = raw.bytes.filter((_, index) => index % 4 !== 3)
    expect(Buffer.compare(readPng(made.value.png).bytes, expected)).to.equal(0)
  })

  for (const maxBytes of [100_000, 1000]) {
    it(`makes a picture of noise fit into ${maxBytes} bytes, and not much smaller`, () => {
      const made = makePicture(noise(400, 300), { ...form, maxBytes })
      if (!made.ok) throw new Error(made.failure.message)
      expect(made.value.png.length).to.be.within(maxBytes / 2, maxBytes)
      expect(readPng(made.value.png)).to.include({ width: made.value.width })
    })
  }

  const oneColour = Uint8Array.from([5, 6, 7, 0, 5, 6, 7, 255])
  const refused: [name: string, raw: RawPicture, form: object, expected: string][] = [
    ['nothing is small enough', noise(400, 300), { maxBytes: 10 }, 'does not fit into 10 bytes'],
    ['it may not try again', noise(400, 300), { maxBytes: 1000, maxRounds: 1 }, 'does not fit'],
    [
      'nothing is drawn in the window, whatever its transparency',
      { bytes: oneColour, width: 2, height: 1, stride: 8, layout: rgbaLayout },
      {},
      'of one colour',
    ],
    ['the picture is damaged', { ...noise(40, 30), height: 31 }, {}, 'cut short'],
  ]
  for (const [name, raw, other, expected] of refused) {
    it(`says so when ${name}`, () => {
      const made = makePicture(raw, { ...form, ...other })
      expect(made).to.have.nested.property('failure.message').that.includes(expected)
    })
  }
})

describe('toRgb', () => {
  const layout = (
    bytesPerPixel: 2 | 3 | 4,
    order: 'little' | 'big',
    red: number,
    green: number,
    blue: number,
  ): PixelLayout => ({ bytesPerPixel, order, red, green, blue })

  const cases: [name: string, layout: PixelLayout, bytes: number[], expected: number[]][] = [
    ['RGBA', rgbaLayout, [1, 2, 3, 0], [1, 2, 3]],
    ['XRGB', layout(4, 'big', 0xff0000, 0xff00, 0xff), [9, 1, 2, 3], [1, 2, 3]],
    ['BGR', layout(3, 'little', 0xff0000, 0xff00, 0xff), [3, 2, 1], [1, 2, 3]],
    ['565, half green', layout(2, 'big', 0xf800, 0x7e0, 0x1f), [0x04, 0x00], [0, 130, 0]],
    [
      'ten bits a colour',
      layout(4, 'little', 0x3ff00000, 0xffc00, 0x3ff),
      [0xff, 0x03, 0x00, 0x20],
      [128, 0, 255],
    ],
  ]
  for (const [name, pixel, bytes, expected] of cases) {
    it(`reads ${name}`, () => {
      const raw = { bytes: Uint8Array.from(bytes), width: 1, height: 1, stride: bytes.length }
      const rgb = toRgb({ ...raw, layout: pixel })
      expect(rgb.ok && [...rgb.value.bytes]).to.deep.equal(expected)
    })
  }

  it('refuses a picture without pixels, with short rows, or with colours that are none', () => {
    const { layout: pixel, ...raw } = noise(2, 2)
    expect(toRgb({ ...raw, layout: pixel, width: 0 }).ok).to.equal(false)
    expect(toRgb({ ...raw, layout: pixel, stride: 7 }).ok).to.equal(false)
    // Without red, and with red in two places.
    for (const red of [0, 0x10001]) {
      expect(toRgb({ ...raw, layout: { ...pixel, red } }).ok).to.equal(false)
    }
  })
})

describe('scaleDown', () => {
  it('gives the mean of what each pixel covers, also a part of one', () => {
    const four = picture(4, 2, (x, y) => [10 * x + 40 * y, 0, 0])
    expect([...scaleDown(four, 2).bytes]).to.deep.equal([25, 0, 0, 45, 0, 0])
    // Each new pixel covers one and a half old ones.
    const three = picture(3, 1, x => [0, [0, 90, 240][x] ?? 0, 7])
    expect([...scaleDown(three, 2).bytes]).to.deep.equal([0, 30, 7, 0, 190, 7])
    expect(
      scaleDown(
        picture(9, 1, () => [7, 7, 7]),
        1,
      ),
    ).to.include({ height: 1 })
  })

  it('keeps the mean of the whole, for any size', () => {
    const sizes = fc.record({
      width: fc.integer({ min: 2, max: 30 }),
      height: fc.integer({ min: 1, max: 30 }),
      to: fc.integer({ min: 1, max: 30 }),
      greys: fc.array(fc.nat(255), { minLength: 900, maxLength: 900 }),
    })
    const mean = (bytes: Uint8Array) => bytes.reduce((sum, each) => sum + each, 0) / bytes.length
    fc.assert(
      fc.property(sizes, ({ width, height, to, greys }) => {
        const original = picture(width, height, (x, y) => Array(3).fill(greys[y * width + x]))
        const scaled = scaleDown(original, to)
        expect(scaled.bytes).to.have.length(scaled.width * scaled.height * 3)
        expect(mean(scaled.bytes)).to.be.closeTo(mean(original.bytes), 0.6)
      }),
    )
  })
})

describe('the thread that makes pictures', () => {
  const maker = createPictureMaker()
  after(() => maker.close())
  const asked = { maxWidth: 4096, maxBytes: 1e6, signal: new AbortController().signal }

  it('makes several at a time', async () => {
    const sizes = [10, 20, 30]
    const made = await Promise.all(sizes.map(width => maker.make(noise(width, 8), asked)))
    const widths = made.map(each => each.ok && readPng(each.value.png).width)
    expect(widths).to.deep.equal(sizes)
  })

  it('leaves memory alone that holds more than the picture', async () => {
    const { bytes, ...rest } = noise(8, 8)
    const roomy = new Uint8Array(4096)
    roomy.set(bytes, 1000)
    const made = await maker.make({ ...rest, bytes: roomy.subarray(1000, 1256) }, asked)
    expect(made).to.have.property('ok', true)
    expect(roomy).to.have.length(4096)
  })

  it('passes on why there is no picture', async () => {
    const made = await maker.make({ ...noise(8, 8), height: 9 }, asked)
    expect(made).to.have.nested.property('failure.reason', 'failed')
  })

  it('gives up when asked to, and makes the next picture', async () => {
    const stop = new AbortController()
    const making = maker.make(noise(2000, 2000), { ...asked, signal: stop.signal })
    stop.abort()
    expect(await making).to.have.nested.property('failure.reason', 'timeout')
    expect(await maker.make(noise(8, 8), asked)).to.have.property('ok', true)
  })

  it('starts as it is published, where its file has another ending', async () => {
    const built = new URL('../../../dist/server/capture/png/picture-maker.js', import.meta.url)
    const published = (await import(built.href)) as {
      createPictureMaker: typeof createPictureMaker
    }
    const other = published.createPictureMaker()
    expect(await other.make(noise(8, 8), asked)).to.have.property('ok', true)
    await other.close()
  })
})
