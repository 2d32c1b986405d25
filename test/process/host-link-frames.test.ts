import { expect } from 'chai'
import { frameOf, opcodes, RawLink } from '../helpers/raw-link.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { connectWhenFree, expectHealthy } from './host-link-health.ts'
import { instanceId } from '../helpers/link.ts'

const maxMessageBytes = 256 * 1024

const { binary, close, more, ping, pong, text } = opcodes

const sceneText = (scene: object) => JSON.stringify({ type: 'scene.set', id: 'frame', scene })

/** Valid JSON of exactly so many bytes. */
function sceneOfBytes(bytes: number): string {
  const empty = sceneText({ text: '' })
  return sceneText({ text: 'x'.repeat(bytes - empty.length) })
}

/** One message in fragments of `size` bytes, with what `between` makes after each but the last. */
function fragments(message: string, size: number, between: () => Buffer[] = () => []): Buffer {
  const frames: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const isLast = at + size >= message.length
    const opcode = at === 0 ? text : more
    frames.push(frameOf(message.slice(at, at + size), { opcode, fin: isLast }))
    if (!isLast) frames.push(...between())
  }
  return Buffer.concat(frames)
}

describe('frames on the host link of the real program', () => {
  let serve: ServeProcess

  before(async () => {
    serve = await startServeProcess({ flags: [`--limit=maxMessageBytes=${maxMessageBytes}`] })
  })

  after(async () => {
    await expectHealthy(serve)
    const { code, stderr } = await serve.stop()
    expect(code).to.equal(0)
    expect(stderr).not.to.match(/"level":"error"|\n\s+at /)
  })

  const startOf = (message: string) => frameOf(message, { fin: false })

  /** Title, bytes after the welcome, close code. */
  const fatal: [string, () => Buffer, number][] = [
    ['a frame that declares more than the limit', () => declared(maxMessageBytes + 1), 1009],
    ['one that declares 2^40 bytes', () => declared(2 ** 40), 1009],
    ['one that declares 2^63 - 1 bytes', () => declaredHuge(), 1009],
    [
      'a binary frame that declares more than the limit',
      () => frameOf('', { opcode: binary, declared: maxMessageBytes + 1 }),
      1009,
    ],
    ['fragments that pass the limit together', () => fragments(sceneOfBytes(300_000), 1000), 1009],
    ['a text that is no UTF-8', () => frameOf(Buffer.from([0x7b, 0xff, 0x7d])), 1007],
    ['a text that ends in half a character', () => frameOf(Buffer.from([0xe2, 0x82])), 1007],
    ['a frame without a mask', () => frameOf(sceneText({}), { masked: false }), 1002],
    ['the first reserved bit', () => frameOf(sceneText({}), { reserved: 0x40 }), 1002],
    ['the second reserved bit', () => frameOf(sceneText({}), { reserved: 0x20 }), 1002],
    ['the third reserved bit', () => frameOf(sceneText({}), { reserved: 0x10 }), 1002],
    ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode): [string, () => Buffer, number] => [
      `the reserved opcode ${opcode}`,
      () => frameOf('', { opcode }),
      1002,
    ]),
    ['a ping of 126 bytes', () => frameOf('x'.repeat(126), { opcode: ping }), 1002],
    ['a ping in fragments', () => frameOf('x', { opcode: ping, fin: false }), 1002],
    ['a close frame with one byte', () => frameOf('x', { opcode: close }), 1002],
    ['a continuation of nothing', () => frameOf('x', { opcode: more }), 1002],
    [
      'a second message inside the first',
      () => Buffer.concat([startOf('{"type":'), frameOf('{}')]),
      1002,
    ],
    ['more fragments than the library counts', () => fragments(sceneOfBytes(20_000), 1), 1008],
  ]

  function declared(length: number): Buffer {
    return frameOf('', { declared: length })
  }

  function declaredHuge(): Buffer {
    return Buffer.from([0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4])
  }

  for (const [title, bytes, code] of fatal) {
    it(`closes with ${code} after ${title}`, async () => {
      const link = await RawLink.connect(serve)
      link.write(bytes())
      expect(await link.untilClosed(), link.closeReason).to.equal(code)
      expect(link.messages.map(({ type }) => type)).to.deep.equal(['welcome'])
    })
  }

  it('says at once that a frame is too large, without a byte of it', async () => {
    const link = await RawLink.connect(serve)
    serve.resetPeak()
    const before = serve.rss().now
    link.write(declared(maxMessageBytes * 1000))
    expect(await link.untilClosed()).to.equal(1009)
    expect(serve.rss().peak - before).to.be.below(64 * 1024 * 1024)
  })

  async function answered(link: RawLink): Promise<void> {
    const answer = () => link.messages.find(({ id }) => id === 'frame')
    await link.until(() => answer() !== undefined, 'the answer')
    expect(answer(), `${link.closeCode} ${link.closeReason}`).to.include({ type: 'ok' })
  }

  /** Title, bytes that carry one scene with the id `frame`. */
  const legal: [string, () => Buffer][] = [
    ['a message of exactly the limit', () => frameOf(sceneOfBytes(maxMessageBytes))],
    [
      'fragments of exactly the limit together',
      () => fragments(sceneOfBytes(maxMessageBytes), 4096),
    ],
    ['10,000 fragments of one byte', () => fragments(sceneOfBytes(10_000), 1)],
    [
      'fragments with pings and pongs in between',
      () => {
        const between = () => [frameOf('here?', { opcode: ping }), frameOf('', { opcode: pong })]
        return fragments(sceneOfBytes(1000), 50, between)
      },
    ],
    [
      'empty fragments',
      () => {
        const empty = frameOf('', { opcode: more, fin: false })
        return fragments(sceneText({ a: 1 }), 5, () => [empty, empty])
      },
    ],
    [
      'a character cut in two by the fragments',
      () => {
        const message = Buffer.from(sceneText({ name: 'Würfel' }))
        const at = message.indexOf('ü') + 1
        const first = frameOf(message.subarray(0, at), { fin: false })
        return Buffer.concat([first, frameOf(message.subarray(at), { opcode: more })])
      },
    ],
  ]

  for (const [title, bytes] of legal) {
    it(`takes ${title}`, async () => {
      const link = await RawLink.connect(serve)
      link.write(bytes())
      await answered(link)
      link.text({ type: 'bye' })
      expect(await link.untilClosed()).to.equal(1000)
    })
  }

  it('cuts an application that sends pings faster than their pongs leave', async () => {
    const link = await RawLink.connect(serve)
    link.write(Buffer.concat(Array(10_000).fill(frameOf('here?', { opcode: ping }))))
    await link.until(() => link.ended, 'the cut')
    expect(link.frames.length).to.be.below(10_000)
  })

  it('takes a message that comes byte by byte', async () => {
    const link = await RawLink.connect(serve)
    for (const byte of frameOf(sceneText({ slow: true }))) {
      link.write(Buffer.from([byte]))
      await new Promise<void>(resolve => setImmediate(resolve))
    }
    await answered(link)
    link.reset()
    // The same run of the application takes its place back at once.
    const again = await connectWhenFree(serve, { instance_id: instanceId })
    await again.bye()
  })
})
