import { randomFillSync } from 'node:crypto'
import { expect } from 'chai'
import { systemTimer } from '../../../../src/lib/util/time.ts'
import { makePicture, nextWidth } from '../../../../src/server/capture/png/make-picture.ts'
import { createPictureMaker } from '../../../../src/server/capture/png/picture-maker.ts'
import { type RawPicture, rgbaLayout } from '../../../../src/server/capture/png/pixels.ts'
import { windowCaptureLimits } from '../../../../src/server/capture/window-limits.ts'
import { readPng } from './read-png.ts'

function noise(width: number, height: number): RawPicture {
  const bytes = randomFillSync(new Uint8Array(width * height * 4))
  return { bytes, width, height, stride: width * 4, layout: rgbaLayout }
}

const form = { maxWidth: 4096, maxBytes: 1e6, maxRounds: 8 }

describe('makePicture', () => {
  it('keeps every pixel when nothing asks for less', () => {
    const raw = noise(40, 30)
    const made = makePicture(raw, form)
    if (!made.ok) throw new Error(made.failure.message)
    expect(made.value).to.include({ width: 40, height: 30 })
    const expected = raw.bytes.filter((_, index) => index % 4 !== 3)
    expect(Buffer.compare(readPng(made.value.png).bytes, expected)).to.equal(0)
  })

  it('is no wider than asked for', () => {
    const made = makePicture(noise(300, 200), { ...form, maxWidth: 90 })
    expect(made).to.have.property('value').that.includes({ width: 90, height: 60 })
  })

  for (const maxBytes of [100_000, 10_000, 1000, 100]) {
    it(`makes a picture of noise fit into ${maxBytes} bytes, and not much smaller`, () => {
      const made = makePicture(noise(400, 300), { ...form, maxBytes })
      if (!made.ok) throw new Error(made.failure.message)
      expect(made.value.png.length).to.be.within(maxBytes / 2, maxBytes)
      expect(readPng(made.value.png)).to.include({ width: made.value.width })
    })
  }

  it('says when nothing is small enough', () => {
    const made = makePicture(noise(400, 300), { ...form, maxBytes: 10 })
    expect(made).to.have.property('failure').that.includes({ reason: 'failed' })
  })

  it('tries no more often than it may', () => {
    const made = makePicture(noise(400, 300), { ...form, maxBytes: 1000, maxRounds: 1 })
    expect(made).to.have.nested.property('failure.reason', 'failed')
  })

  it('says that nothing is drawn in a window of one colour, whatever its transparency', () => {
    const bytes = Uint8Array.from([5, 6, 7, 0, 5, 6, 7, 255])
    const made = makePicture({ bytes, width: 2, height: 1, stride: 8, layout: rgbaLayout }, form)
    expect(made).to.have.nested.property('failure.reason', 'blank')
  })

  it('says what is wrong with a damaged picture', () => {
    const made = makePicture({ ...noise(40, 30), height: 31 }, form)
    expect(made).to.have.nested.property('failure.message').that.includes('cut short')
  })
})

describe('nextWidth', () => {
  it('always comes down, to one pixel at least', () => {
    expect(nextWidth(1000, 2e6, 1e6)).to.equal(678)
    expect(nextWidth(1000, 1_000_001, 1e6)).to.equal(900)
    expect(nextWidth(3, 1e6, 1)).to.equal(1)
  })
})

describe('createPictureMaker', () => {
  const maker = createPictureMaker(systemTimer, windowCaptureLimits)
  after(() => maker.close())
  const asked = { maxWidth: 4096, maxBytes: 1e6, signal: new AbortController().signal }

  it('makes pictures in its thread, several at a time', async () => {
    const sizes = [10, 20, 30]
    const made = await Promise.all(sizes.map(width => maker.make(noise(width, 8), asked)))
    expect(made.map(picture => picture.ok && readPng(picture.value.png).width)).to.deep.equal(sizes)
    expect(made[0]?.ok && made[0].value.png).to.be.instanceOf(Buffer)
  })

  it('takes the memory of a large picture along instead of copying it', async () => {
    const raw = noise(64, 64)
    const making = maker.make(raw, asked)
    expect(raw.bytes.buffer.byteLength).to.equal(0)
    expect(await making).to.have.property('ok', true)
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
})
