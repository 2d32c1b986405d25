import { expect } from 'chai'
import { unzipSync } from 'fflate'
import { type NamedFile, zipFolder } from '../../../src/commands/adapter/zip-folder.ts'

const text = (path: string, content: string): NamedFile => ({ path, bytes: Buffer.from(content) })
const files = [text('__init__.py', 'bl_info = {}\n'), text('scene/collect.py', 'x = "é"\r\n')]

/** The fields of the first entry in the central directory. */
function firstEntry(zip: Uint8Array): { madeBy: number; mode: number; time: number; date: number } {
  const view = Buffer.from(zip)
  const at = view.readUInt32LE(view.length - 22 + 16)
  return {
    madeBy: view.readUInt8(at + 5),
    mode: view.readUInt32LE(at + 38) >>> 16,
    time: view.readUInt16LE(at + 12),
    date: view.readUInt16LE(at + 14),
  }
}

describe('zipFolder', () => {
  it('holds exactly the files, in one folder, byte for byte', () => {
    const found = unzipSync(zipFolder('addon', files))
    expect(Object.keys(found)).to.deep.equal(['addon/__init__.py', 'addon/scene/collect.py'])
    for (const { path, bytes } of files) {
      expect(Buffer.from(found[`addon/${path}`] ?? [])).to.deep.equal(bytes)
    }
  })

  it('gives the same bytes in whatever order the files come', () => {
    expect(zipFolder('addon', files.toReversed())).to.deep.equal(zipFolder('addon', files))
  })

  it('gives the same bytes in every time zone', async () => {
    const { TZ } = process.env
    const zips: string[] = []
    try {
      for (const zone of ['UTC', 'Asia/Kathmandu', 'America/Los_Angeles']) {
        process.env.TZ = zone
        // The module computes the time of the files as it is loaded.
        const loaded = await import(`../../../src/commands/adapter/zip-folder.ts?zone=${zone}`)
        zips.push(Buffer.from(loaded.zipFolder('addon', files)).toString('hex'))
      }
    } finally {
      if (TZ === undefined) delete process.env.TZ
      else process.env.TZ = TZ
    }
    expect(zips).to.have.length(3)
    expect(new Set(zips).size).to.equal(1)
  })

  it('marks each file as readable by all users, without a local time', () => {
    const noon = 12 << 11
    const firstOf1980 = (1 << 5) | 1
    const entry = { madeBy: 3, mode: 0o100644, time: noon, date: firstOf1980 }
    expect(firstEntry(zipFolder('addon', files))).to.deep.equal(entry)
  })
})
