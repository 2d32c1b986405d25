import { expect } from 'chai'
import { addressOf, decideEntry } from '../../../../src/lib/mcp/settings/decide-entry.ts'

const url = 'http://127.0.0.1:8765/mcp'
const http = { type: 'http', url }
const keyed = { ...http, headers: { Authorization: 'Bearer ${K}' } }
const bridge = { command: '/bin/node', args: ['/x/run.js', 'connect', 'blender'] }

describe('decideEntry', () => {
  type Row = [what: string, found: unknown, wanted: Record<string, unknown>, outcome: unknown]
  const rows: Row[] = [
    ['adds a new one', undefined, http, ['added', [[[], http]]]],
    ['leaves members of others', { ...http, trust: true }, http, ['unchanged', []]],
    [
      'sees one URL in two spellings',
      { ...http, url: 'http://127.0.0.1:8765/a/../mcp' },
      http,
      ['unchanged', []],
    ],
    ['adds what is missing', { url }, http, ['updated', [[['type'], 'http']]]],
    [
      'adds a header beside others',
      { ...http, headers: { 'X-A': '1' } },
      keyed,
      ['updated', [[['headers', 'Authorization'], 'Bearer ${K}']]],
    ],
    ['adds no second name for the address', { httpUrl: url, timeout: 5 }, http, ['unchanged', []]],
    [
      'keeps a key that somebody wrote',
      { ...http, headers: { authorization: 'Bearer x' } },
      keyed,
      'differs headers.authorization',
    ],
    ['keeps another kind', { type: 'sse', url }, http, 'differs type'],
    [
      'keeps an entry of another URL',
      { ...http, url: 'http://x/mcp' },
      http,
      'other_address http://x/mcp',
    ],
    ['keeps an entry that leads nowhere', { disabled: true }, http, 'other_address null'],
    ['leaves the same bridge', { ...bridge, env: {} }, bridge, ['unchanged', []]],
    [
      'keeps a bridge to another server',
      { ...bridge, args: ['connect', 'maya'] },
      bridge,
      'other_address connect maya',
    ],
    [
      'keeps one whose words are no texts',
      { ...bridge, args: ['connect', { toString: 0, valueOf: 0 }] },
      bridge,
      'other_address connect {"toString":0,"valueOf":0}',
    ],
  ]
  for (const [what, found, wanted, outcome] of rows) {
    it(what, () => {
      const decided = decideEntry(found, wanted, false)
      if (!decided.ok) {
        const { failure } = decided
        const told = failure.kind === 'differs' ? failure.members.join() : failure.address
        expect(`${failure.kind} ${told}`).to.equal(outcome)
        return
      }
      const { change, edits } = decided.value
      expect([change, edits.map(({ path, value }) => [path, value])]).to.deep.equal(outcome)
    })
  }

  it('when forced, replaces an entry of another address whole', () => {
    const decided = decideEntry({ url: 'http://x/mcp', trust: true }, http, true)
    expect(decided).to.deep.equal({
      ok: true,
      value: { change: 'replaced', edits: [{ path: [], value: http }] },
    })
  })
})

describe('addressOf', () => {
  const rows: [entry: Record<string, unknown>, address: string | null][] = [
    [{ url }, url],
    [{ serverUrl: 'HTTP://X/mcp' }, 'http://x/mcp'],
    [{ command: 'npx', args: ['-y', 'x'] }, 'npx -y x'],
    [bridge, 'connect blender'],
    [{ command: ['node', 'run.js', 'connect', 'blender'] }, 'connect blender'],
    [{ command: 'node', args: ['run.js', 'serve', '--stdio'] }, 'serve --stdio'],
    [{ url: 5, command: 5 }, null],
  ]
  for (const [entry, address] of rows) {
    it(`is ${address} for ${JSON.stringify(entry)}`, () => {
      expect(addressOf(entry)).to.equal(address)
    })
  }
})
