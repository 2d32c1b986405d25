import { expect } from 'chai'
import { safeFileName, typeOfName } from '../../../src/lib/cli/file-name.ts'

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
