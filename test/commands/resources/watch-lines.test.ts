import { expect } from 'chai'
import {
  isNews,
  lookLines,
  noteLines,
  stateText,
} from '../../../src/commands/resources/watch-lines.ts'
import { compare, type Look, type State } from '../../../src/lib/mcp/client/follower.ts'

const time = new Date(2026, 0, 2, 3, 4, 5)
const json = (value: unknown, revision: number | null = null): State => ({
  kind: 'json',
  value,
  revision,
  goneSince: null,
})
const text = (value: string): State => ({ kind: 'text', text: value })
const look = (before: State, after: State): Look => ({
  before,
  after,
  difference: compare(before, after),
})

function shown(before: State, after: State, updates = 1, width = 80): string[] {
  return lookLines(look(before, after), updates, time, width)
}

describe('lookLines', () => {
  it('shows what was and what is, and calls things by their names', () => {
    const before = json({ frame: 1, objects: [{ id: 1, name: 'Cube', x: 0 }, { id: 2 }] }, 7)
    const after = json({ frame: 2, objects: [{ id: 1, name: 'Cube', x: 1.5 }, { id: 3, name: 'Lamp' }] }, 8) // prettier-ignore
    expect(shown(before, after)).to.deep.equal([
      '03:04:05  revision 8',
      '          frame           1 → 2',
      '        - objects/2       {id: 2}',
      '          objects/Cube/x  0 → 1.5',
      '        + objects/Lamp    {id: 3, name: "Lamp"}',
    ])
  })

  it('leaves out members that differ with every snapshot', () => {
    const scene = (count: number, frame: number) =>
      json({ change_count: count, captured_at: `t${count}`, frame, truncated: { total: count } })
    expect(shown(scene(1, 1), scene(2, 5))).to.deep.equal([
      '03:04:05  changed',
      '          frame  1 → 5',
    ])
    expect(shown(scene(1, 1), scene(2, 1))).to.deep.equal(['03:04:05  changed'])
  })

  it('counts the updates that it stands for', () => {
    expect(shown(json({ a: 1 }, 7), json({ a: 2 }, 57), 3)[0]).to.equal(
      '03:04:05  revision 57 (50 updates summed up)',
    )
    expect(shown(json({ a: 1 }), json({ a: 2 }), 3)[0]).to.equal(
      '03:04:05  changed (3 updates summed up)',
    )
    expect(shown(json({ a: 1 }, 7), json({ a: 1 }, 8))).to.deep.equal([
      '03:04:05  revision 8, nothing differs',
    ])
  })

  it('shows a dozen changes and counts the rest', () => {
    const many = (value: number) => json(Array.from({ length: 500 }, () => value))
    const lines = shown(many(1), many(2))
    expect(lines).to.have.length(14)
    expect(lines.at(-1)).to.equal('          … and 488 other changes')
    const more = (value: number) => json(Array.from({ length: 1500 }, () => value))
    expect(shown(more(1), more(2)).at(-1)).to.equal('          … and more than 988 other changes')
  })

  it('stays on its lines, whatever the values and names are', () => {
    const bad = `\u001b[2J\n${'y'.repeat(200)}`
    const after = { [bad]: `${bad}!`, b: bad, 'c\u001b[2J\n\u202ed': 1 }
    const lines = shown(json({ [bad]: bad }), json(after), 1, 80)
    for (const line of lines) {
      expect(line).to.not.match(/[\u0000-\u001f\u202e]/)
      expect(line.length).to.be.at.most(80)
    }
  })

  it('shows both values of a vector at 80 columns, below its name where they are long', () => {
    const scene = (x: number) =>
      json({ objects: [{ id: 'Cube', location: [x, -1.234567, 1.234567], short: [x, 0] }] })
    expect(shown(scene(1.2), scene(2.345678))).to.deep.equal([
      '03:04:05  changed',
      '          objects/Cube/location',
      '              [1.2, -1.234567, 1.234567]',
      '            → [2.345678, -1.234567, 1.234567]',
      '          objects/Cube/short     [1.2, 0] → [2.345678, 0]',
    ])
  })

  it('shows all numbers of a matrix', () => {
    const matrix = (x: number) =>
      json({ matrix: Array.from({ length: 16 }, (_, at) => at / 7 + x) })
    const lines = shown(matrix(1), matrix(2))
    for (const line of lines) expect(line.length).to.be.at.most(80)
    const numbers = lines
      .join(' ')
      .match(/\d\.\d+/g)
      ?.map(Number)
    expect(numbers)
      .to.have.length(26)
      .and.include.members([1 + 1 / 7, 2 + 15 / 7])
  })

  it('shows the action of an audit entry before its number and time, and all of it', () => {
    const entry = (id: number) => ({
      id,
      timestamp: '2026-01-02T03:04:05.678Z',
      actor: 'blender',
      params: {},
      action: 'object.move',
    })
    const lines = shown(json({ entries: [entry(1)] }), json({ entries: [entry(1), entry(2)] }))
    expect(lines[1]).to.contain('+ entries/2  {action: "object.move", actor: "blender"')
    expect(lines[1]?.length).to.be.at.most(80)
  })

  it('shows the lines of a text that differ', () => {
    expect(shown(text('a\nb\nc\nd'), text('a\nB\nc2\nd'))).to.deep.equal([
      '03:04:05  changed',
      '        - b',
      '        - c',
      '        + B',
      '        + c2',
    ])
    const long = Array.from({ length: 20 }, (_, at) => `line ${at}`).join('\n')
    expect(shown(text(''), text(long)).at(-1)).to.equal('        + … and 14 other lines')
  })

  it('says what is there now where nothing can be compared', () => {
    const picture: State = { kind: 'binary', bytes: 1200, mimeType: 'image/png', digest: 'a' }
    expect(shown({ kind: 'none' }, picture)).to.deep.equal(['03:04:05  1.2 kB of image/png'])
    expect(shown(json({}), { kind: 'none' })).to.deep.equal(['03:04:05  does not exist now'])
  })
})

describe('noteLines', () => {
  it('breaks a note at 80 columns between words, and no URL', () => {
    const text =
      'watching scene://current at http://127.0.0.1:8765/mcp (revision 2, 3 members); Ctrl-C ends'
    expect(noteLines(text, time, 80)).to.deep.equal([
      '03:04:05  watching scene://current at http://127.0.0.1:8765/mcp (revision 2, 3',
      '          members); Ctrl-C ends',
    ])
    expect(noteLines(text, time, Infinity)).to.deep.equal([`03:04:05  ${text}`])
  })
})

describe('isNews', () => {
  const rows: [what: string, before: State, after: State, news: boolean][] = [
    ['another value', json(1), json(2), true],
    ['the same value set again', json(1, 7), json(1, 8), true],
    ['an update told of twice', json(1, 7), json(1, 7), false],
    ['a revision that is only known now', json(1), json(1, 8), false],
    ['nothing where nothing was', { kind: 'none' }, { kind: 'none' }, false],
  ]
  for (const [what, before, after, news] of rows) {
    it(`is ${news} for ${what}`, () => expect(isNews(look(before, after))).to.equal(news))
  }
})

describe('stateText', () => {
  const rows: [State, string][] = [
    [json({ a: 1, b: 2 }, 12), 'revision 12, 2 members'],
    [json([1]), '1 element'],
    [json(7), '7'],
    [text('a\nb'), '2 lines'],
  ]
  for (const [state, expected] of rows) {
    it(`is ${expected}`, () => expect(stateText(state)).to.equal(expected))
  }
})
