import { expect } from 'chai'
import { nameOfUri } from '../../../src/commands/resources/read-run.ts'
import { safeFileName, typeOfName } from '../../../src/lib/cli/file-name.ts'

describe('nameOfUri', () => {
  const hex = '3fa1b2c4d5e6'.padEnd(64, '0')
  const rows: [uri: string, mime: string | null, name: string][] = [
    ['capture://current_window', 'image/png', 'current_window.png'],
    ['capture://current_window?max_width=100', 'image/jpeg; q=1', 'current_window.jpg'],
    [`artefact://sha256/${hex}`, 'image/x-exr', '3fa1b2c4d5e6.exr'],
    ['file:///tmp/shot.mov', 'application/octet-stream', 'shot.mov'],
    ['x://a/%2e%2e%2fetc%2fpasswd', null, 'passwd.bin'],
    ['x://a/..', null, 'resource.bin'],
    ['x://a/%E0%A4', 'text/plain', '%E0%A4.txt'],
  ]
  for (const [uri, mime, name] of rows) {
    it(`is ${name} for ${uri}`, () => expect(nameOfUri(uri, mime)).to.equal(name))
  }
})

describe('safeFileName', () => {
  const rows: [given: string, name: string | null][] = [
    ['frame 0001 + ä.png', 'frame 0001 + ä.png'],
    ['../../.bashrc', 'bashrc'],
    ['C:\\Windows\\a.txt', 'a.txt'],
    ['-rf', 'rf'],
    ['a\u001b[31m\u202eb?.png', 'a [31m b .png'],
    ['con.png', '_con.png'],
    ['..', null],
    ['', null],
    [`${'x'.repeat(300)}.exr`, `${'x'.repeat(146)}.exr`],
  ]
  for (const [given, name] of rows) {
    it(`is ${name} for ${JSON.stringify(given).slice(0, 30)}`, () => {
      expect(safeFileName(given)).to.equal(name)
    })
  }
})

describe('names and types of files', () => {
  it('knows the usual endings', () => {
    const types = ['x.PNG', 'x.exr', 'x.unknown', 'x'].map(typeOfName)
    expect(types).to.deep.equal(['image/png', 'image/x-exr', null, null])
  })
})
