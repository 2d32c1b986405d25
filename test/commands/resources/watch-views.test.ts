import { expect } from 'chai'
import { jsonView, newEntries } from '../../../src/commands/resources/watch-views.ts'
import { compare, type State } from '../../../src/lib/mcp/client/follower.ts'

const json = (value: unknown): State => ({ kind: 'json', value, revision: null, goneSince: null })

describe('newEntries', () => {
  const logOf = (...ids: unknown[]) => json({ entries: ids.map(id => ({ id })) })
  const lookAt = (before: State, after: State) =>
    newEntries({ before, after, difference: compare(before, after) })

  it('counts the entries that came and went between two reads', () => {
    expect(lookAt(logOf(1, 2), logOf(5, 6)).missed).to.equal(2)
    expect(lookAt(logOf(1, 2), logOf(2, 3)).missed).to.equal(undefined)
  })

  it('counts none beside an entry whose id is no number', () => {
    const odd = { toString: 0, valueOf: 0 }
    expect(lookAt(logOf(1), logOf(odd, 6)).missed).to.equal(undefined)
    expect(lookAt(logOf(1, odd), logOf(5, 6)).missed).to.equal(undefined)
  })
})

describe('jsonView', () => {
  const text = (value: string): State => ({ kind: 'text', text: value })

  function changedLine(uri: string, before: State, after: State, maxChars = Infinity): any {
    let line = ''
    const view = jsonView(uri, written => (line = written), maxChars)
    view.changed({ before, after, difference: compare(before, after) }, 1)
    return JSON.parse(line)
  }
  const differenceOf = (before: State, after: State, maxChars: number) =>
    changedLine('a://b', before, after, maxChars).difference

  it('leaves out the changes that are too long for a line, and says so', () => {
    const before = json({ a: 1, b: 1 })
    const after = json({ a: 2, b: 'x'.repeat(200) })
    const { changes, truncated } = differenceOf(before, after, 100)
    expect(changes.map(({ path }: any) => path)).to.deep.equal(['/a'])
    expect(truncated).to.equal(true)
    expect(differenceOf(before, after, Infinity)).to.include({ truncated: false })
  })

  it('leaves out what differs with every snapshot of a scene, and nothing of other resources', () => {
    const changesOf = (uri: string) => {
      const line = changedLine(
        uri,
        json({ captured_at: 'a', x: 1 }),
        json({ captured_at: 'b', x: 2 }),
      )
      return line.difference.changes.map(({ path }: any) => path)
    }
    expect(changesOf('scene://current')).to.deep.equal(['/x'])
    expect(changesOf('app://x')).to.deep.equal(['/captured_at', '/x'])
    const [before, after] = [json({ captured_at: 'a' }), json({ captured_at: 'b' })]
    expect(changedLine('scene://current', before, after).difference).to.deep.equal({ kind: 'same' })
  })

  it('leaves out texts that are too long for a line', () => {
    const [before, after] = [text('a'), text('b'.repeat(200))]
    expect(differenceOf(before, after, 100)).to.deep.equal({ kind: 'text', truncated: true })
    expect(differenceOf(before, after, Infinity)).to.include({ before: 'a' })
  })
})
