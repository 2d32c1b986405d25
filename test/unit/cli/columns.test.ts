import { expect } from 'chai'
import { columns, wrapWords } from '../../../src/lib/cli/format.ts'
import { counted } from '../../../src/lib/util/amounts.ts'

describe('columns', () => {
  it('are as wide as their widest cell, with a dash where there is nothing', () => {
    expect(
      columns(
        ['A', 'LONG'],
        [
          ['one', ''],
          ['three', 'x'],
        ],
      ),
    ).to.equal('A      LONG\none    -\nthree  x')
    expect(columns(['A', 'B'], [])).to.equal('A  B')
  })

  it('carry no control character to the terminal', () => {
    expect(columns(['A'], [['x\u001b[2J\ny']])).to.equal('A\nx y')
  })
})

describe('columns of a terminal', () => {
  const rows = [['a1', 'x'.repeat(20), 'y'.repeat(20), 'z'.repeat(30)]]
  const table = (width: number) =>
    columns(['ID', 'NAME', 'SCENE', 'URL'], rows, { drop: ['SCENE', 'NAME'], width })

  it('that do not fit are left out, the least useful first, and no word is cut', () => {
    expect(table(78)).to.match(/^ID +NAME +SCENE +URL\n/)
    expect(table(77)).to.match(/^ID +NAME +URL\n/)
    expect(table(56)).to.match(/^ID +NAME +URL\n/)
    for (const width of [55, 10]) expect(table(width)).to.equal(`ID  URL\na1  ${'z'.repeat(30)}`)
  })

  it('are aligned behind wide characters', () => {
    expect(
      columns(
        ['A', 'B'],
        [
          ['场景', 'x'],
          ['abc', 'y'],
        ],
      ),
    ).to.equal('A     B\n场景  x\nabc   y')
  })
})

describe('wrapWords', () => {
  it('breaks between words, and never within one', () => {
    expect(wrapWords('one two three', 9, '> ', '  ')).to.deep.equal(['> one two', '  three'])
    expect(wrapWords(`at /${'x'.repeat(20)} now`, 9)).to.deep.equal([
      'at',
      `/${'x'.repeat(20)}`,
      'now',
    ])
    expect(wrapWords('场景 场景', 8)).to.deep.equal(['场景', '场景'])
  })
})

describe('counted', () => {
  it('has a plural', () => {
    expect([0, 1, 2].map(count => counted(count, 'token'))).to.deep.equal([
      '0 tokens',
      '1 token',
      '2 tokens',
    ])
  })
})
