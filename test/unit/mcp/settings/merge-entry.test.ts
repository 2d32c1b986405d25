import { expect } from 'chai'
import fc from 'fast-check'
import { getNodeValue, type Node, parseTree } from 'jsonc-parser'
import { type Client, clients } from '../../../../src/lib/mcp/settings/clients.ts'
import type { Entry } from '../../../../src/lib/mcp/settings/entry.ts'
import { newSettings } from '../../../../src/lib/mcp/settings/entry.ts'
import { mergeEntry } from '../../../../src/lib/mcp/settings/settings-file.ts'

const url = 'http://127.0.0.1:8765/mcp'
const cursor = clients.find(({ id }) => id === 'cursor') as Client

interface Case extends Partial<Entry> {
  section?: string
  format?: Client['format']
}

const wanted = (parts: Partial<Entry> = {}): Entry => {
  const entry = { type: 'http', url }
  return { name: 'blender', entry, input: null, own: null, notes: [], ...parts }
}

/** The text and the kind of change, or why it is refused. */
function merge(before: string, { section, format, ...parts }: Case = {}, force = false): string[] {
  const client = { ...cursor, section: section ?? 'mcpServers', format: format ?? 'jsonc' }
  try {
    const { change, text } = mergeEntry('FILE', before, client, wanted(parts), force)
    return [change, text]
  } catch (error) {
    return [(error as Error).message]
  }
}

describe('mergeEntry', () => {
  it('makes what is pasted out of an empty file', () => {
    const text = newSettings(cursor, wanted())
    expect(JSON.parse(text)).to.deep.equal({ mcpServers: { blender: { type: 'http', url } } })
    expect(merge('')).to.deep.equal(['added', text])
  })

  it('adds the question that an entry refers to, once', () => {
    const input = { type: 'promptString', id: 'blender-key' }
    const [change, text = ''] = merge('{\n  "inputs": [{"id": "other"}]\n}', { input })
    expect(change).to.equal('added')
    expect(JSON.parse(text).inputs).to.deep.equal([input, { id: 'other' }])
    expect(merge(text, { input })).to.deep.equal(['unchanged', text])
    const [, other = ''] = merge(text, { input, name: 'again' })
    expect(JSON.parse(other).inputs).to.have.length(2)
  })

  const layouts: [what: string, before: string, after: string][] = [
    ['fills an empty object', '{}', '{\n  "s": {\n    "n": {\n      "u": 1\n    }\n  }\n}'],
    [
      'adds the section first, indented by four spaces',
      '{\n    "a": 1\n}\n',
      '{\n    "s": {\n        "n": {\n            "u": 1\n        }\n    },\n    "a": 1\n}\n',
    ],
    ['stays on one line where all is', '{"s":{"m":{}}}', '{"s":{"n": {"u":1},"m":{}}}'],
    [
      'follows tabs and CRLF',
      '{\r\n\t"s": {\r\n\t\t"m": 1\r\n\t}\r\n}\r\n',
      '{\r\n\t"s": {\r\n\t\t"n": {\r\n\t\t\t"u": 1\r\n\t\t},\r\n\t\t"m": 1\r\n\t}\r\n}\r\n',
    ],
    [
      'keeps comments and the last comma',
      '{\n  "s": {\n    // of m\n    "m": 1, // mine\n  },\n}',
      '{\n  "s": {\n    "n": {\n      "u": 1\n    },\n    // of m\n    "m": 1, // mine\n  },\n}',
    ],
    [
      'keeps comments of an empty object',
      '{\n  "s": {\n    // none yet\n  }\n}',
      '{\n  "s": {\n    "n": {\n      "u": 1\n    }\n    // none yet\n  }\n}',
    ],
  ]
  for (const [what, before, after] of layouts) {
    it(what, () => {
      const parts = { section: 's', name: 'n', entry: { u: 1 } }
      expect(merge(before, parts)).to.deep.equal(['added', after])
    })
  }

  it('replaces an entry of another address in its place, when forced', () => {
    const before =
      '{\n  "mcpServers": {\n    "blender": {"url": "http://x/"}, // mine\n    "m": 1\n  }\n}'
    const entry = `{\n      "type": "http",\n      "url": "${url}"\n    }`
    const after = before.replace('{"url": "http://x/"}', entry)
    expect(merge(before, {}, true)).to.deep.equal(['replaced', after])
  })

  const elsewhere = '{"mcpServers":{"blender":{"url":"http://elsewhere/mcp"}}}'
  const refused: [text: string, told: string, format?: Client['format']][] = [
    ['{"mcpServers":{}', 'FILE:1:17 is not valid JSON: unexpected end'],
    ['{"a":1,}', 'FILE:1:8 is not valid JSON: trailing comma', 'json'],
    ['[]', 'FILE does not contain an object'],
    ['{"mcpServers":[]}', 'FILE has an unexpected value under "mcpServers"'],
    ['{"mcpServers":{},"mcpServers":{}}', 'FILE has two members of one name'],
    [elsewhere, 'FILE has another entry "blender"'],
    ['{"mcpServers":{"blender":7}}', 'FILE has another entry "blender"'],
  ]
  for (const [text, told, format] of refused) {
    it(`refuses ${text}`, () => {
      expect(merge(text, { format })).to.deep.equal([told])
    })
  }

  it('leaves an entry that has more members', () => {
    const text = `{"mcpServers":{"blender":{"url":"${url}","headers":{"A":"b"},"trust":true}}}`
    const entry = { url, headers: { A: 'b' } }
    expect(merge(text, { entry })).to.deep.equal(['unchanged', text])
  })

  /** Lays a value out with random comments, commas and line ends between its parts. */
  function laidOut(value: unknown, pick: () => number): string {
    const trivia = ['', ' ', '\n', '\t', '// note\n', '/* note */', '\r\n', ' // "x": 1, {\r\n']
    const gap = () => trivia[pick() % trivia.length] ?? ''
    const list = (parts: string[], open: string, close: string) => {
      const last = parts.length > 0 && pick() % 3 === 0 ? `,${gap()}` : ''
      return `${open}${gap()}${parts.join(`${gap()},${gap()}`)}${gap()}${last}${close}`
    }
    if (Array.isArray(value))
      return list(
        value.map(each => laidOut(each, pick)),
        '[',
        ']',
      )
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    const members = Object.entries(value).map(
      ([key, each]) => `${JSON.stringify(key)}${gap()}:${gap()}${laidOut(each, pick)}`,
    )
    return list(members, '{', '}')
  }

  const entries = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), {
    maxKeys: 4,
  })
  const files = fc.record({
    others: entries,
    mcpServers: fc.option(entries, { nil: undefined }),
    random: fc.array(fc.nat({ max: 100 }), { minLength: 7, maxLength: 40 }),
  })

  it('adds one entry to any file and changes nothing else in it, comments included', () => {
    fc.assert(
      fc.property(files, ({ others, mcpServers, random }) => {
        let turn = 0
        const pick = () => random[turn++ % random.length] ?? 0
        const value = { ...others, ...(mcpServers === undefined ? {} : { mcpServers }) }
        fc.pre(!('blender' in (mcpServers ?? {})))
        const before = laidOut(value, pick)
        const [change, after = ''] = merge(before)
        expect(change).to.equal('added')
        const read = JSON.parse(JSON.stringify(getNodeValue(parseTree(after) as Node)))
        const servers = { ...mcpServers, blender: { type: 'http', url } }
        expect(read).to.deep.equal(JSON.parse(JSON.stringify({ ...others, mcpServers: servers })))
        // Whatever was there is there in the same order; only something came between.
        expect(isSubsequence(before, after)).to.equal(true)
        expect(merge(after)).to.deep.equal(['unchanged', after])
      }),
    )
  })
})

/** Are the characters of `part` all in `whole`, in their order? Space may have gone. */
function isSubsequence(part: string, whole: string): boolean {
  const wantedText = part.replaceAll(/\s/g, '')
  let at = 0
  for (const character of whole) if (character === wantedText[at]) at++
  return at === wantedText.length
}
