import { expect } from 'chai'
import fc from 'fast-check'
import { getNodeValue } from 'jsonc-parser'
import { parse } from 'smol-toml'
import {
  type WantedEntry,
  mergeSettings,
  newSettings,
} from '../../../../src/lib/mcp/settings/merge-settings.ts'
import { parseJsonText } from '../../../../src/lib/mcp/settings/parse-json-text.ts'

const url = 'http://127.0.0.1:8765/mcp'

function wanted(parts: Partial<WantedEntry> = {}): WantedEntry {
  const entry = { type: 'http', url }
  return { format: 'jsonc', section: 'mcpServers', name: 'blender', entry, input: null, ...parts }
}

/** The text and the kind of change, or the kind of refusal. */
function merge(before: string, parts: Partial<WantedEntry> = {}, force = false): string[] {
  const merged = mergeSettings(before, wanted(parts), force)
  return merged.ok ? [merged.value.change, merged.value.text] : [merged.failure.kind]
}

describe('mergeSettings with JSON', () => {
  it('makes what is pasted out of an empty file', () => {
    const text = newSettings(wanted())
    expect(JSON.parse(text)).to.deep.equal({ mcpServers: { blender: { type: 'http', url } } })
    expect(merge('')).to.deep.equal(['added', text])
    expect(merge(' \n')).to.deep.equal(['added', text])
  })

  it('adds the question that an entry refers to, once', () => {
    const input = { type: 'promptString', id: 'blender-key' }
    const [change, text = ''] = merge('{\n  "inputs": [{"id": "other"}]\n}', { input })
    expect(change).to.equal('added')
    expect(JSON.parse(text).inputs).to.deep.equal([{ id: 'other' }, input])
    expect(merge(text, { input })).to.deep.equal(['unchanged', text])
    const lost = text.replace(', {"type":"promptString","id":"blender-key"}', '')
    expect(lost).not.to.equal(text)
    expect(merge(lost, { input })).to.deep.equal(['updated', text])
  })

  it('changes a member of the entry and keeps its comments', () => {
    const before = `{"mcpServers": {\n  // mine\n  "blender": {\n    "url": "${url}" // local\n  }\n}}`
    const [change, text] = merge(before)
    expect(change).to.equal('updated')
    expect(text).to.equal(before.replace('" // local', '", // local\n    "type": "http"'))
  })

  const layouts: [what: string, before: string, after: string][] = [
    ['fills an empty object', '{}', '{\n  "s": {\n    "n": {\n      "u": 1\n    }\n  }\n}'],
    [
      'adds the section behind the last member, indented by four spaces',
      '{\n    "a": 1\n}\n',
      '{\n    "a": 1,\n    "s": {\n        "n": {\n            "u": 1\n        }\n    }\n}\n',
    ],
    ['stays on one line where all is', '{"s":{"m":{}}}', '{"s":{"m":{}, "n": {"u":1}}}'],
    [
      'follows tabs and CRLF',
      '{\r\n\t"s": {\r\n\t\t"m": 1\r\n\t}\r\n}\r\n',
      '{\r\n\t"s": {\r\n\t\t"m": 1,\r\n\t\t"n": {\r\n\t\t\t"u": 1\r\n\t\t}\r\n\t}\r\n}\r\n',
    ],
    [
      'leaves a comment on the line of the last member',
      '{\n  "s": {\n    "m": 1 // mine\n    // more\n  }\n}',
      '{\n  "s": {\n    "m": 1, // mine\n    "n": {\n      "u": 1\n    }\n    // more\n  }\n}',
    ],
    [
      'keeps the last comma last',
      '{\n  "s": {\n    "m": 1, // mine\n  },\n}',
      '{\n  "s": {\n    "m": 1, // mine\n    "n": {\n      "u": 1\n    },\n  },\n}',
    ],
    [
      'keeps comments of an empty object',
      '{\n  "s": {\n    // none yet\n  }\n}',
      '{\n  "s": {\n    // none yet\n    "n": {\n      "u": 1\n    }\n  }\n}',
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

  const refused: [text: string, kind: string][] = [
    ['{"mcpServers":{}', 'malformed'],
    ['not json', 'malformed'],
    ['// only a comment', 'malformed'],
    ['[]', 'shape'],
    ['{"mcpServers":[]}', 'shape'],
    ['{"mcpServers":null}', 'shape'],
    ['{"mcpServers":{"blender":{"url":"http://elsewhere/mcp"}}}', 'other_address'],
    [`{"mcpServers":{"blender":{"type":"sse","url":"${url}"}}}`, 'differs'],
  ]
  for (const [text, kind] of refused) {
    it(`refuses ${text} as ${kind}`, () => {
      expect(merge(text)).to.deep.equal([kind])
    })
  }

  it('refuses comments where the client itself would', () => {
    expect(merge('{"a":1} // c', { format: 'json' })).to.deep.equal(['malformed'])
    expect(merge('{"a":1} // c')[0]).to.equal('added')
  })

  it('refuses a list of questions that is none', () => {
    expect(merge('{"inputs":{}}', { input: { id: 'k' } })).to.deep.equal(['shape'])
  })

  it('is not misled by what every object inherits', () => {
    expect(merge('{"mcpServers":{}}', { name: 'constructor' })[0]).to.equal('added')
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
    mark: fc.constantFrom('', '\uFEFF'),
  })

  it('adds one entry to any file and changes nothing else in it, comments included', () => {
    fc.assert(
      fc.property(files, ({ others, mcpServers, random, mark }) => {
        let turn = 0
        const pick = () => random[turn++ % random.length] ?? 0
        const value = { ...others, ...(mcpServers === undefined ? {} : { mcpServers }) }
        fc.pre(!('blender' in (mcpServers ?? {})))
        const before = mark + laidOut(value, pick)
        const [change, after = ''] = merge(before)
        expect(change).to.equal('added')
        const parsed = parseJsonText(after.slice(mark.length), 'jsonc')
        const read = parsed.ok ? JSON.parse(JSON.stringify(getNodeValue(parsed.value))) : null
        const servers = { ...mcpServers, blender: { type: 'http', url } }
        expect(read).to.deep.equal(JSON.parse(JSON.stringify({ ...others, mcpServers: servers })))
        // Whatever was there is there in the same order; only something came between.
        expect(isSubsequence(before, after)).to.equal(true)
        expect(after.startsWith(mark)).to.equal(true)
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

describe('mergeSettings with TOML', () => {
  const toml = { format: 'toml', section: 'mcp_servers', entry: { url } } as const
  const table = `[mcp_servers.blender]\nurl = "${url}"\n`

  const rows: [what: string, before: string, change: string, after: string][] = [
    ['makes a file', '', 'added', table],
    ['adds behind the rest', 'model = "x" # mine\n', 'added', `model = "x" # mine\n\n${table}`],
    ['ends the last line first', 'model = "x"', 'added', `model = "x"\n\n${table}`],
    [
      'follows CRLF',
      '[a]\r\nb = 1979-05-27\r\n',
      'added',
      `[a]\r\nb = 1979-05-27\r\n\r\n${table.replaceAll('\n', '\r\n')}`,
    ],
    [
      'keeps numbers that JavaScript has not',
      'a = 9223372036854775807\nb = nan\nc = 0xDEAD\n',
      'added',
      `a = 9223372036854775807\nb = nan\nc = 0xDEAD\n\n${table}`,
    ],
    ['keeps the byte order mark', '\uFEFFa = 1\n', 'added', `\uFEFFa = 1\n\n${table}`],
    [
      'leaves the same entry',
      `${table}enabled = false\n`,
      'unchanged',
      `${table}enabled = false\n`,
    ],
    [
      'leaves one that is written otherwise',
      `mcp_servers = { blender = { url = "${url}" } }\n`,
      'unchanged',
      `mcp_servers = { blender = { url = "${url}" } }\n`,
    ],
  ]
  for (const [what, before, change, after] of rows) {
    it(what, () => {
      expect(merge(before, toml)).to.deep.equal([change, after])
    })
  }

  it('adds a member and keeps every line of the table', () => {
    const before = `# top\n[mcp_servers."blender"] # mine\n# local\nurl = "${url}"\n\n[z]\na = 1\n`
    const entry = { url, bearer_token_env_var: 'SERVICE_MCP_API_KEY' }
    const added = 'bearer_token_env_var = "SERVICE_MCP_API_KEY"\n'
    const after = before.replace('# mine\n', `# mine\n${added}`)
    expect(merge(before, { ...toml, entry })).to.deep.equal(['updated', after])
  })

  it('keeps an entry of another address, unless forced', () => {
    const before = `a = 1\n\n[mcp_servers.blender]\ncommand = "x"\n\n[mcp_servers.blender.env]\nQ = "1"\n\n# of z\n[z]\nb = 1\n`
    expect(merge(before, toml)).to.deep.equal(['other_address'])
    const [change, after] = merge(before, toml, true)
    expect([change, after]).to.deep.equal(['replaced', `a = 1\n\n${table}\n\n# of z\n[z]\nb = 1\n`])
  })

  const refused: [text: string, kind: string][] = [
    ['a = ', 'malformed'],
    ['mcp_servers = 5\n', 'shape'],
    ['mcp_servers = { maya = { url = "x" } }\n', 'unfaithful'],
    [`[mcp_servers.blender]\nurl = "${url}/2"\n`, 'other_address'],
  ]
  for (const [text, kind] of refused) {
    it(`refuses ${JSON.stringify(text)} as ${kind}`, () => {
      expect(merge(text, toml)).to.deep.equal([kind])
    })
  }

  it('refuses to cut where a text only looks like the table', () => {
    const text = `note = """\n[mcp_servers.blender]\ncommand = "q"\n"""\n`
    const before = `${text}\n[mcp_servers.blender]\ncommand = "x"\n`
    expect(merge(before, toml, true)).to.deep.equal(['unfaithful'])
  })

  it('never quotes a line of the file, which may hold a key', () => {
    const merged = mergeSettings('token = "sesame" x\n', wanted(toml), false)
    expect(JSON.stringify(merged)).not.to.include('sesame')
  })

  it('writes what reads the same', () => {
    const entry = { command: 'C:\\node.exe', args: ['a "b"', 'c\n'], env_vars: ['K'] }
    const [, text = ''] = merge('a = 1\n', { ...toml, entry })
    expect(parse(text)).to.deep.equal({ a: 1, mcp_servers: { blender: entry } })
  })
})
