import { expect } from 'chai'
import { createProgress, type ProgressFacts, progressText } from '../../../src/lib/cli/progress.ts'
import { ManualTime } from '../resources/manual-time.ts'

const half: ProgressFacts = {
  label: 'shot.exr',
  done: 150e6,
  total: 300e6,
  elapsedMs: 2000,
  columns: 100,
}

describe('progressText', () => {
  const rows: [what: string, facts: Partial<ProgressFacts>, text: string][] = [
    [
      'half of it',
      {},
      'shot.exr  [===============>              ]   50%  150 MB of 300 MB  75 MB/s  2 s left',
    ],
    ['of no known size', { total: null }, 'shot.exr  150 MB  75 MB/s'],
    ['a narrow terminal', { columns: 30 }, 'shot.exr   50%  150 MB of 300'],
  ]
  for (const [what, facts, text] of rows) {
    it(`shows ${what}`, () => expect(progressText({ ...half, ...facts })).to.equal(text))
  }

  it('never fills the last column, where a terminal would begin a new line', () => {
    for (let columns = 2; columns < 140; columns++) {
      expect(progressText({ ...half, columns }).length).to.be.below(columns)
    }
  })
})

describe('createProgress', () => {
  it('says nothing of what is done at once, and leaves no line behind', () => {
    const clock = new ManualTime()
    const written: string[] = []
    const stream = { columns: 80, write: (text: string) => written.push(text) }
    const progress = createProgress({ label: 'a', enabled: true, stream, clock })
    progress.begin(100)
    clock.advance(399)
    progress.moved(50)
    progress.end()
    expect(written).to.deep.equal([])
    clock.advance(10)
    progress.moved(60)
    progress.moved(61)
    progress.end()
    expect(written).to.have.length(2)
    expect(written[0]).to.match(/^\ra  .*60%/)
    expect(written[1]).to.equal('\r\u001b[K')
  })
})
