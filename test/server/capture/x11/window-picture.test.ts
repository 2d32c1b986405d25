import { expect } from 'chai'
import { parseSetup } from '../../../../src/server/capture/x11/setup.ts'
import { describeImage } from '../../../../src/server/capture/x11/backend.ts'
import { greeting, visual } from './fake-display.ts'

function setupOf(...asked: Parameters<typeof greeting>) {
  const setup = parseSetup(greeting(...asked))
  if (!setup.ok) throw new Error(setup.failure)
  return setup.value
}

const size = { width: 3, height: 2 }
const image = { depth: 24, visual, bytes: Buffer.alloc(24) }

describe('describeImage', () => {
  it('says how the bytes are to be read', () => {
    const raw = describeImage(image, setupOf(), size)
    if (!raw.ok) throw new Error(raw.failure)
    expect(raw.value).to.include({ ...size, stride: 12 })
    expect(raw.value.layout).to.deep.equal({
      bytesPerPixel: 4,
      order: 'little',
      red: 0xff0000,
      green: 0xff00,
      blue: 0xff,
    })
  })

  it('counts what fills a row up', () => {
    const setup = setupOf()
    const formats = new Map([[24, { bitsPerPixel: 24, rowPadBits: 32 }]])
    const raw = describeImage(image, { ...setup, formats }, size)
    expect(raw).to.have.nested.property('value.stride', 12)
    const wider = describeImage(image, { ...setup, formats }, { width: 4, height: 2 })
    expect(wider).to.have.nested.property('value.stride', 12)
    const five = { ...image, bytes: Buffer.alloc(32) }
    expect(
      describeImage(five, { ...setup, formats }, { width: 5, height: 2 }),
    ).to.have.nested.property('value.stride', 16)
  })

  it('heeds the order of bytes of the display', () => {
    const raw = describeImage(image, setupOf({ imageOrder: 1 }), size)
    expect(raw).to.have.nested.property('value.layout.order', 'big')
  })

  for (const [name, changed, part] of [
    ['of an unknown depth', { depth: 30 }, 'depth 30'],
    ['of unknown colours', { visual: 1 }, 'depth 24'],
    ['that is cut short', { bytes: Buffer.alloc(23) }, 'cut short'],
  ] as const) {
    it(`refuses a picture ${name}`, () => {
      const raw = describeImage({ ...image, ...changed }, setupOf(), size)
      expect(raw).to.have.property('failure').that.includes(part)
    })
  }

  it('refuses pixels that are indexes into a table of colours', () => {
    const raw = describeImage(image, setupOf({ trueColour: false }), size)
    expect(raw).to.have.property('failure').that.includes('not read')
  })
})
