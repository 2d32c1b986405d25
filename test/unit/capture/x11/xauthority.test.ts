import { expect } from 'chai'
import fc from 'fast-check'
import { chooseKey, parseXauthority } from '../../../../src/server/capture/x11/setup.ts'

interface Written {
  family?: number
  address?: string
  number?: string
  name?: string
  data: string
}

function entry({
  family = 256,
  address = 'here',
  number = '0',
  name = 'MIT-MAGIC-COOKIE-1',
  data,
}: Written) {
  const field = (text: string): Buffer => {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(Buffer.byteLength(text))
    return Buffer.concat([length, Buffer.from(text)])
  }
  const head = Buffer.alloc(2)
  head.writeUInt16BE(family)
  return Buffer.concat([head, ...[address, number, name, data].map(field)])
}

const display = { host: null, number: 0, screen: 0 }

function chosen(...entries: Written[]): string | undefined {
  const keys = parseXauthority(Buffer.concat(entries.map(entry)))
  return chooseKey(keys, display, 'here')?.data.toString()
}

describe('the file with the keys of displays', () => {
  const cases: [name: string, entries: Written[], expected: string | undefined][] = [
    ['gives the key of this machine and display', [{ data: 'a' }], 'a'],
    ['gives no key of another display', [{ number: '1', data: 'a' }], undefined],
    ['gives no key of another machine', [{ address: 'there', data: 'a' }], undefined],
    ['gives no key of a network address', [{ family: 0, address: 'here', data: 'a' }], undefined],
    ['gives no key of another kind', [{ name: 'XDM-AUTHORIZATION-1', data: 'a' }], undefined],
    ['gives one for every display', [{ number: '', data: 'a' }], 'a'],
    ['gives one for every machine', [{ family: 65_535, address: '', data: 'a' }], 'a'],
    ['gives the first that fits', [{ number: '7', data: 'a' }, { data: 'b' }, { data: 'c' }], 'b'],
    ['gives nothing when it is empty', [], undefined],
  ]
  for (const [name, entries, expected] of cases) {
    it(name, () => expect(chosen(...entries)).to.equal(expected))
  }

  it('gives what precedes a damaged entry', () => {
    const bytes = Buffer.concat([entry({ data: 'a' }), entry({ data: 'bbbb' }).subarray(0, -1)])
    expect(parseXauthority(bytes).map(({ data }) => String(data))).to.deep.equal(['a'])
  })

  it('takes any bytes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        bytes => void parseXauthority(Buffer.from(bytes)),
      ),
    )
  })
})
