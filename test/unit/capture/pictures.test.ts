import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { PNG } from 'pngjs'
import {
  comparePictures,
  encode,
  fitPng,
  pictureFacts,
} from '../../../src/server/capture/pictures.ts'
import { greyPng, pngOf, rgbPng } from '../../helpers/pictures.ts'

const any = { maxWidth: 10_000, maxBytes: 10_000_000 }
const noise = (width: number, height: number) =>
  rgbPng(randomBytes(width * height * 3), width, height)

describe('encode', () => {
  it('keeps every pixel of a window, whatever its transparency', async () => {
    const bytes = Buffer.from([255, 0, 0, 255, 0, 0, 255, 0])
    const made = await encode({ bytes, width: 2, height: 1, channels: 4 }, any, 'png')
    const { data } = PNG.sync.read(made?.data ?? expect.fail('not made'))
    expect([...data]).to.deep.equal([255, 0, 0, 255, 0, 0, 255, 255])
  })

  for (const maxBytes of [100_000, 1000]) {
    it(`makes a picture of noise fit into ${maxBytes} bytes, and not much smaller`, async () => {
      const raw = {
        bytes: randomBytes(400 * 300 * 4),
        width: 400,
        height: 300,
        channels: 4,
      } as const
      const { data, ...size } =
        (await encode(raw, { ...any, maxBytes }, 'png')) ?? expect.fail('not made')
      expect(data.length).to.be.within(maxBytes / 3, maxBytes)
      expect(PNG.sync.read(data)).to.include(size)
      expect(size.width / size.height).to.be.closeTo(4 / 3, 0.1)
    })
  }

  it('keeps both sides and the bytes of a JPEG file within their bounds', async () => {
    const bounds = { maxWidth: 500, maxHeight: 300, maxBytes: 60_000 }
    const picture = { bytes: noise(900, 900), width: 900, height: 900 }
    const made = (await encode(picture, bounds, 'jpeg')) ?? expect.fail('not made')
    const facts = { mimeType: 'image/jpeg', width: made.width, height: made.height }
    expect(pictureFacts(made.data)).to.deep.equal(facts)
    expect(made.width).to.be.within(50, 300)
    expect(made.data.length).to.be.at.most(60_000)
  })
})

describe('fitPng', () => {
  it('leaves a file as it is that fits', async () => {
    const png = pngOf(40, 30)
    expect(await fitPng(png, any)).to.deep.equal({ png, width: 40, height: 30 })
  })

  it('makes PNG files of JPEG and WebP pictures', async () => {
    const { default: sharp } = await import('sharp')
    const source = sharp(pngOf(32, 16))
    for (const made of [source.clone().jpeg(), source.clone().webp()]) {
      const fitting = await fitPng(await made.toBuffer(), any)
      expect(pictureFacts(fitting?.png ?? Buffer.alloc(0))).to.include({ mimeType: 'image/png' })
    }
  })

  const refused: [what: string, file: Buffer][] = [
    ['is no picture', Buffer.from('<html>')],
    ['is damaged', noise(40, 30).subarray(0, 1000)],
    ['has more pixels than are read', greyPng(8001, 8001, 0)],
  ]
  it('makes nothing smaller that it cannot read', async () => {
    for (const [what, file] of refused) {
      expect(await fitPng(file, { ...any, maxWidth: 20 }), what).to.equal(null)
    }
  })
})

describe('comparePictures', () => {
  const grey = (changed: [x: number, y: number][] = [], by = 100) => {
    const pixels = new Uint8Array(8 * 6 * 3).fill(100)
    for (const [x, y] of changed) pixels[(y * 8 + x) * 3 + 1] = 100 + by
    return rgbPng(pixels, 8, 6)
  }

  it('finds no difference in colours that are two apart', async () => {
    const found = await comparePictures(grey(), grey([[3, 2]], 2))
    expect(found).to.include({ share: 0, box: null })
  })

  it('tells where pixels differ, and shows them in colour on grey', async () => {
    const found = await comparePictures(
      grey(),
      grey([
        [2, 1],
        [5, 3],
      ]),
    )
    const { share, box, png } = found ?? expect.fail('not compared')
    expect(share).to.equal(2 / 48)
    expect(box).to.deep.equal({ left: 2, top: 1, width: 4, height: 3 })
    const { data } = PNG.sync.read(png)
    const pixel = (x: number, y: number) => [...data.subarray((y * 8 + x) * 4, (y * 8 + x) * 4 + 3)]
    expect(pixel(2, 1)).to.deep.equal([255, 67, 0])
    expect(pixel(0, 0)).to.deep.equal([50, 50, 50])
  })

  it('compares neither pictures of two sizes nor a damaged one', async () => {
    expect(await comparePictures(grey(), pngOf(8, 7))).to.equal(null)
    expect(await comparePictures(grey().subarray(0, 50), grey())).to.equal(null)
  })
})
