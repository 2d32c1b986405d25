import { expect } from 'chai'
import fc from 'fast-check'
import { checkPng } from '../../../src/server/capture/png-check.ts'
import { pngChunk, pngHeader, pngOf, pngSignature } from '../../helpers/png.ts'

const bounds = { maxBytes: 10_000, maxWidth: 100 }
const good = pngOf(40, 30)
const pixels = pngChunk('IDAT', Buffer.from('any'))
const end = pngChunk('IEND')
const file = (...parts: Buffer[]) => Buffer.concat([pngSignature, ...parts])

/** With one byte changed. */
function spoilt(at: number): Buffer {
  const bytes = Buffer.from(good)
  bytes.writeUInt8((bytes[at] ?? 0) ^ 1, at)
  return bytes
}

describe('checkPng', () => {
  it('takes a whole file and tells its size', () => {
    expect(checkPng(good, bounds)).to.deep.equal({ ok: true, value: { width: 40, height: 30 } })
  })

  it('takes every form of pixels that PNG has, and chunks of any kind', () => {
    for (const form of [
      [1, 0, 0, 0, 0],
      [16, 2, 0, 0, 1],
      [4, 3, 0, 0, 0],
      [8, 4, 0, 0, 0],
      [8, 6, 0, 0, 1],
    ]) {
      const text = pngChunk('tEXt', Buffer.from('Comment\0made for a test'))
      expect(checkPng(file(pngHeader(1, 1, form), text, pixels, pixels, end), bounds).ok).to.equal(
        true,
      )
    }
  })

  const wide = 'it is 101 pixels wide, at most 100 were asked for'
  const noHeader = 'it does not begin with a header'
  const nothing = 'its header says nothing that a PNG can be'
  const cut = 'it is cut off'
  const refused: [what: string, png: Buffer, why: string][] = [
    ['nothing at all', Buffer.alloc(0), 'not a PNG file'],
    ['a JPEG', Buffer.from('ffd8ffe000104a46494600', 'hex'), 'not a PNG file'],
    ['another chunk first', file(pixels, pngHeader(1, 1), end), noHeader],
    ['a header with a wrong checksum', spoilt(29), 'the checksum of its header is wrong'],
    ['no width', file(pngHeader(0, 1), pixels, end), nothing],
    ['an unknown colour type', file(pngHeader(1, 1, [8, 5, 0, 0, 0]), pixels, end), nothing],
    ['an unknown compression', file(pngHeader(1, 1, [8, 2, 1, 0, 0]), pixels, end), nothing],
    ['one that is too wide', pngOf(101, 2), wide],
    ['a huge width', file(pngHeader(0xffff_ffff, 1), pixels, end), 'it is 4294967295 pixels wide'],
    ['a huge height', file(pngHeader(1, 0x7fff_ffff), pixels, end), 'it is 2147483647 pixels high'],
    ['one that is too large', Buffer.concat([good, Buffer.alloc(10_000)]), 'it has 1'],
    ['one without pixels', file(pngHeader(1, 1), end), 'it has no pixels'],
    ['one that was cut', good.subarray(0, -1), cut],
    ['a chunk that leads nowhere', file(pngHeader(1, 1), Buffer.alloc(12, 0xff)), cut],
    ['something behind the end', Buffer.concat([good, Buffer.of(0)]), 'there is something behind'],
  ]
  for (const [what, png, why] of refused) {
    it(`refuses ${what}`, () => {
      const checked = checkPng(png, bounds)
      expect(checked.ok ? 'taken' : checked.failure.slice(0, why.length)).to.equal(why)
    })
  }

  it('never throws, and takes nothing that was cut anywhere', () => {
    const random = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.concat([pngSignature, bytes])),
      fc.nat(good.length - 1).map(length => good.subarray(0, length)),
    )
    fc.assert(fc.property(random, png => !checkPng(png, bounds).ok))
    fc.assert(fc.property(fc.nat(good.length - 1), at => void checkPng(spoilt(at), bounds)))
  })
})
