import { expect } from 'chai'
import { unzipSync } from 'fflate'
import { type NamedFile, zipFolder } from '../../../src/commands/adapter/zip-folder.ts'

const text = (path: string, content: string): NamedFile => ({ path, bytes: Buffer.from(content) })
const files = [text('__init__.py', 'bl_info = {}\n'), text('scene/collect.py', 'x = "é"\r\n')]

describe('zipFolder', () => {
  it('holds exactly the files, in one folder, byte for byte', () => {
    const found = unzipSync(zipFolder('addon', files))
    expect(Object.keys(found)).to.deep.equal(['addon/__init__.py', 'addon/scene/collect.py'])
    for (const { path, bytes } of files) {
      expect(Buffer.from(found[`addon/${path}`] ?? [])).to.deep.equal(bytes)
    }
  })

  it('gives the same bytes in whatever order the files come, and whenever', () => {
    const zip = Buffer.from(zipFolder('addon', files))
    expect(Buffer.from(zipFolder('addon', files.toReversed()))).to.deep.equal(zip)
    // Of the first file: noon of the first day of 1980.
    const [time, date] = [zip.readUInt16LE(10), zip.readUInt16LE(12)]
    expect([time, date]).to.deep.equal([12 << 11, (1 << 5) | 1])
  })
})
