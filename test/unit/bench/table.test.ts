import { expect } from 'chai'
import { formatNumber, renderMarkdown, renderText, type Measured } from '../../../bench/table.ts'

const measured: Measured = {
  name: 'read',
  title: 'a read',
  reference: 'bare',
  columns: [
    { title: 'cpu ratio', figure: 'us', show: 'inverse' },
    { title: 'requests/s', figure: 'rps', show: 'value' },
  ],
  rounds: {
    bare: [
      { us: 10, rps: 20_000 },
      { us: 10, rps: 22_000 },
      { us: 10, rps: 21_000 },
    ],
    ours: [
      { us: 20, rps: 10_000 },
      { us: 12.5, rps: 15_000 },
      { us: 40, rps: 5000 },
    ],
    gone: [],
  },
  notes: ['a note'],
}

describe('bench table', () => {
  it('shows the median ratio with its lowest and highest round', () => {
    expect(renderText(measured)).to.equal(
      [
        '== read: a read',
        'server         cpu ratio  requests/s',
        'bare                   1      21,000',
        'ours    0.50 (0.25-0.80)      10,000',
        'gone                   -           -',
        '  a note',
        '',
      ].join('\n'),
    )
  })

  it('renders the same as Markdown', () => {
    expect(renderMarkdown(measured)).to.equal(
      [
        '### a read',
        '',
        '| server | cpu ratio | requests/s |',
        '| --- | ---: | ---: |',
        '| bare | 1 | 21,000 |',
        '| ours | 0.50 (0.25-0.80) | 10,000 |',
        '| gone | - | - |',
        '',
        '- a note',
        '',
      ].join('\n'),
    )
  })

  const numbers: readonly (readonly [number, string])[] = [
    [Number.NaN, '-'],
    [0, '0'],
    [0.012345, '0.0123'],
    [1, '1'],
    [12.345, '12.3'],
    [99.96, '100'],
    [123.4, '123'],
    [1_234_567, '1,234,567'],
  ]
  for (const [value, text] of numbers) {
    it(`writes ${value} as ${text}`, () => expect(formatNumber(value)).to.equal(text))
  }
})
