import { expect } from 'chai'
import { columns, counted } from '../../../src/lib/cli/columns.ts'

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

describe('counted', () => {
  it('has a plural', () => {
    expect([0, 1, 2].map(count => counted(count, 'token'))).to.deep.equal([
      '0 tokens',
      '1 token',
      '2 tokens',
    ])
  })
})
