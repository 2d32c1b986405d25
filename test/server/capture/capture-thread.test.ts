import { expect } from 'chai'
import type { PictureMaker } from '../../../src/server/capture/png/picture-maker.ts'
import { rgbaLayout } from '../../../src/server/capture/png/pixels.ts'
import { windowCaptureLimits } from '../../../src/server/capture/window-limits.ts'
import { systemTimer } from '../../../src/lib/util/time.ts'

/** The compiled files, whose threads start with files of another ending. */
const built = new URL('../../../dist/server/capture/png/picture-maker.js', import.meta.url).href

describe('the thread that makes pictures, as it is published', () => {
  let maker: PictureMaker
  before(async () => {
    const { createPictureMaker } = (await import(built)) as {
      createPictureMaker: typeof import('../../../src/server/capture/png/picture-maker.ts').createPictureMaker
    }
    maker = createPictureMaker(systemTimer, windowCaptureLimits)
  })
  after(() => maker.close())

  it('makes a PNG file', async () => {
    const bytes = Uint8Array.from({ length: 64 }, (_, index) => index)
    const raw = { bytes, width: 4, height: 4, stride: 16, layout: rgbaLayout }
    const form = { maxWidth: 100, maxBytes: 1e5, signal: new AbortController().signal }
    const made = await maker.make(raw, form)
    if (!made.ok) throw new Error(made.failure.message)
    expect(made.value.png.toString('latin1', 1, 4)).to.equal('PNG')
  })
})
