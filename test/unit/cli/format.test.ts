import { expect } from 'chai'
import { columns, wrapWords } from '../../../src/lib/cli/format.ts'

describe('columns', () => {
  it('are as wide as their widest cell, with a dash where there is nothing', () => {
    const rows = [
      ['one', ''],
      ['three', 'x'],
    ]
    expect(columns(['A', 'LONG'], rows)).to.equal('A      LONG\none    -\nthree  x')
    expect(columns(['A', 'B'], [])).to.equal('A  B')
  })

  it('carry no control character to the terminal', () => {
    expect(columns(['A'], [['x\u001b[2J\ny']])).to.equal('A\nx y')
  })

  it('that do not fit are left out, the least useful first, and no word is cut', () => {
    const rows = [['a1', 'x'.repeat(20), 'y'.repeat(20), 'z'.repeat(30)]]
    const table = (width: number) =>
      columns(['ID', 'NAME', 'SCENE', 'URL'], rows, { drop: ['SCENE', 'NAME'], width })
    expect(table(78)).to.match(/^ID +NAME +SCENE +URL\n/)
    for (const width of [77, 56]) expect(table(width)).to.match(/^ID +NAME +URL\n/)
    for (const width of [55, 10]) expect(table(width)).to.equal(`ID  URL\na1  ${'z'.repeat(30)}`)
  })

  it('are aligned behind wide characters', () => {
    const rows = [
      ['场景', 'x'],
      ['abc', 'y'],
    ]
    expect(columns(['A', 'B'], rows)).to.equal('A     B\n场景  x\nabc   y')
  })
})

describe('wrapWords', () => {
  it('breaks between words, and never within one', () => {
    expect(wrapWords('one two three', 9, '> ', '  ')).to.deep.equal(['> one two', '  three'])
    const path = `/${'x'.repeat(20)}`
    expect(wrapWords(`at ${path} now`, 9)).to.deep.equal(['at', path, 'now'])
    expect(wrapWords('场景 场景', 8)).to.deep.equal(['场景', '场景'])
  })
})
