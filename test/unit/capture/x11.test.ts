import { expect } from 'chai'
import fc from 'fast-check'
import { isThisMachine } from '../../../src/server/capture/x11/properties.ts'
import {
  chooseKey,
  parseDisplayName,
  parseXauthority,
} from '../../../src/server/capture/x11/setup.ts'
import { type Above, type Hidden, whatHides } from '../../../src/server/capture/x11/windows.ts'

describe('what hides a window', () => {
  const screen = { width: 1000, height: 800 }
  const window = { x: 100, y: 100, width: 300, height: 200 }
  const at = (x: number, y: number, width: number, height: number, ours = false): Above => ({
    x,
    y,
    width,
    height,
    ours,
  })

  const cases: [name: string, place: typeof window, above: Above[], expected: Hidden | null][] = [
    ['is nothing with nothing above', window, [], null],
    ['is one within it', window, [at(200, 150, 10, 10)], 'covered'],
    ['is one over its upper left pixel', window, [at(0, 0, 101, 101)], 'covered'],
    ['is one over its lower right pixel', window, [at(399, 299, 5, 5)], 'covered'],
    [
      'is none that touches an edge',
      window,
      [at(0, 100, 100, 200), at(400, 100, 10, 200), at(100, 0, 300, 100), at(100, 300, 300, 10)],
      null,
    ],
    ["is not the application's own menu", window, [at(150, 150, 50, 80, true)], null],
    ['is not the edge that it touches', { x: 0, y: 0, ...screen }, [], null],
    ['is the left edge', { ...window, x: -1 }, [], 'off_screen'],
    ['is the lower edge', { ...window, y: 601 }, [], 'off_screen'],
    ['is what covers it before the edge', { ...window, y: 601 }, [at(0, 0, 1000, 800)], 'covered'],
  ]
  for (const [name, place, above, expected] of cases) {
    it(name, () => expect(whatHides(place, screen, above)).to.equal(expected))
  }
})

describe('a display', () => {
  it('is of this machine under its short name or its full one', () => {
    expect(isThisMachine('STUDIO7', 'studio7')).to.equal(true)
    expect(isThisMachine('studio7.example.com', 'studio7')).to.equal(true)
    expect(isThisMachine('', 'studio7')).to.equal(true)
    expect(isThisMachine('studio77', 'studio7')).to.equal(false)
    expect(isThisMachine('studio7.example.com', 'studio7.example.org')).to.equal(false)
  })

  for (const [text, expected] of [
    [':99.1', { host: null, number: 99, screen: 1 }],
    ['unix:5', { host: null, number: 5, screen: 0 }],
    ['localhost:10.0', { host: 'localhost', number: 10, screen: 0 }],
  ] as const) {
    it(`has the name ${text}`, () => {
      expect(parseDisplayName(text)).to.deep.equal({ ok: true, value: expected })
    })
  }

  for (const [text, part] of [
    [undefined, 'not set'],
    ['', 'not set'],
    [':x', 'no display'],
    [':59536', 'out of range'],
    ['127.0.0.1.example.com:0', 'another machine'],
  ] as const) {
    it(`has no name ${JSON.stringify(text)}`, () => {
      expect(parseDisplayName(text)).to.have.property('failure').that.includes(part)
    })
  }
})

describe('the file with the keys of displays', () => {
  interface Written {
    family?: number
    address?: string
    number?: string
    data: string
  }

  function entry(written: Written): Buffer {
    const { family = 256, address = 'here', number = '0', data } = written
    const field = (text: string): Buffer => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(Buffer.byteLength(text))
      return Buffer.concat([length, Buffer.from(text)])
    }
    const head = Buffer.alloc(2)
    head.writeUInt16BE(family)
    return Buffer.concat([head, ...[address, number, 'MIT-MAGIC-COOKIE-1', data].map(field)])
  }

  const cases: [name: string, entries: Written[], expected: string | undefined][] = [
    ['gives no key of another display', [{ number: '1', data: 'a' }], undefined],
    ['gives no key of another machine', [{ address: 'there', data: 'a' }], undefined],
    ['gives no key of a network address', [{ family: 0, address: 'here', data: 'a' }], undefined],
    ['gives one for every display', [{ number: '', data: 'a' }], 'a'],
    ['gives one for every machine', [{ family: 65_535, address: '', data: 'a' }], 'a'],
    ['gives the first that fits', [{ number: '7', data: 'a' }, { data: 'b' }, { data: 'c' }], 'b'],
  ]
  for (const [name, entries, expected] of cases) {
    it(name, () => {
      const keys = parseXauthority(Buffer.concat(entries.map(entry)))
      const key = chooseKey(keys, { host: null, number: 0, screen: 0 }, 'here')
      expect(key?.data.toString()).to.equal(expected)
    })
  }

  it('takes any bytes, and gives what precedes a damaged entry', () => {
    const bytes = Buffer.concat([entry({ data: 'a' }), entry({ data: 'bbbb' }).subarray(0, -1)])
    expect(parseXauthority(bytes).map(({ data }) => String(data))).to.deep.equal(['a'])
    const any = fc.uint8Array({ maxLength: 300 })
    fc.assert(fc.property(any, random => void parseXauthority(Buffer.from(random))))
  })
})
