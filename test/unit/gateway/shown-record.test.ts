import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { DirectoryRecord } from '../../../src/server/gateway/instance-directory.ts'
import { parseShownRecord } from '../../../src/server/gateway/shown-record.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import { makeRecord } from '../../server/gateway/support.ts'

const id = '0f0e0d0c-1111-4222-8333-444455556666'

const textOf = (changes: object) =>
  JSON.stringify({ ...makeRecord({ instance_id: id }), ...changes })

const parseText = (text: string | Buffer) => parseShownRecord(Buffer.from(text), id)

function parse(changes: object): DirectoryRecord {
  const parsed = parseText(textOf(changes))
  if (!parsed.ok) throw new Error(parsed.failure)
  return parsed.value
}

describe('parseShownRecord', () => {
  it('reads what a server writes, but not how the application feeds it', () => {
    const record = makeRecord({ instance_id: id, pid_start: 'boot:1' })
    expect(parse(record)).to.deep.equal({
      instanceId: id,
      dccType: 'blender',
      displayName: 'Blender 4.2',
      pid: process.pid,
      pidStart: 'boot:1',
      hostname: record.hostname,
      joined: null,
      mcpUrl: 'http://127.0.0.1:8765/mcp',
      mcpUrlIsLoopback: true,
      localUrl: 'http://127.0.0.1:8765',
      version: '0.1.0',
      host: { connected: true, appPid: 7, version: '4.2.0', mode: 'gui' },
      scene: '/shots/010/shot.blend',
      sceneSetMs: null,
      status: 'available',
      startedMs: Date.UTC(2026, 0, 1),
      gateways: [],
      metadata: { studio: 'north' },
    })
    expect(JSON.stringify(parse(record))).to.not.match(/host\.token|8765\/host/)
  })

  it('does without what a simpler writer leaves out, and lets members of later writers pass', () => {
    const left: (keyof InstanceRecord)[] = ['display_name', 'pid_start', 'host', 'scene']
    const rest: (keyof InstanceRecord)[] = ['version', 'status', 'metadata', 'host_url']
    const without = Object.fromEntries([...left, ...rest].map(name => [name, undefined]))
    const record = parse({ ...without, hostname: 'ws-1', later: { a: 1 } })
    expect(record).to.deep.include({
      displayName: 'blender on ws-1',
      pidStart: null,
      host: { connected: false, appPid: null, version: null, mode: null },
      scene: null,
      localUrl: null,
      version: 'unknown',
      status: 'available',
      metadata: {},
    })
    expect(record).to.not.have.property('later')
  })

  it('reads when a scene was set without an application', () => {
    const scene_set_at = '2026-01-01T00:00:00.000Z'
    expect(parse({ scene_set_at }).sceneSetMs).to.equal(Date.UTC(2026, 0, 1))
  })

  it('keeps of the address of the application only where to ask on this machine', () => {
    const table: [hostUrl: unknown, kept: string | null][] = [
      ['http://[::1]:1/host?a#b', 'http://[::1]:1'],
      ['http://localhost/host', 'http://localhost'],
      ['http://169.254.169.254/latest', null],
      ['https://127.0.0.1:1/host', null],
      ['http://user:word@127.0.0.1:1/host', null],
      [`http://127.0.0.1/${'a'.repeat(4000)}`, null],
      [7, null],
    ]
    for (const [host_url, kept] of table) {
      expect(parse({ host_url }).localUrl, String(host_url)).to.equal(kept)
    }
  })

  describe('refuses', () => {
    const metadata = '['.repeat(20) + ']'.repeat(20)
    const bad: [what: string, text: string | Buffer, reason: string][] = [
      ['bytes that are no text', Buffer.from([0x7b, 0xff, 0x7d]), 'not valid UTF-8'],
      ['half a record', textOf({}).slice(0, 100), 'not valid JSON'],
      ['a list', '[]', 'not a JSON object'],
      ['a giant', textOf({ scene: 'x'.repeat(70_000) }), 'larger than 65536 bytes'],
      ['deep nesting', `{"metadata":${metadata}}`, 'deeper than 16'],
      ['a newer version', textOf({ schema_version: 2 }), 'schema_version 2'],
      ['the id of another', textOf({ instance_id: randomUUID() }), 'claims to be instance'],
      ['an id that is no text', textOf({ instance_id: 1 }), 'instance_id must be a string'],
      ['no kind', textOf({ dcc_type: undefined }), '/dcc_type is required'],
      ['an invisible kind', textOf({ dcc_type: '\u202e\u2066' }), '/dcc_type'],
      ["the gateway's own kind", textOf({ dcc_type: '__gateway__' }), 'must not begin with'],
      ['a pid of the own group', textOf({ pid: 0 }), '/pid'],
      ['a script as address', textOf({ mcp_url: 'javascript:alert(1)' }), '/mcp_url'],
      ['an address with a password', textOf({ mcp_url: 'http://u:p@127.0.0.1/' }), '/mcp_url'],
      // Escapes make it too long to be shown whole.
      ['an endless address', textOf({ mcp_url: `http://a/${'ä'.repeat(1000)}` }), '/mcp_url'],
      ['a wrong host', textOf({ host: { connected: 'yes' } }), '/host/connected'],
      ['an unknown status', textOf({ status: 'fine' }), '/status'],
      ['a start in words', textOf({ started_at: 'yesterday' }), '/started_at'],
      ['a list of metadata', textOf({ metadata: ['a'] }), '/metadata'],
    ]
    for (const [what, text, reason] of bad) {
      it(`${what}: ${reason}`, () => {
        const parsed = parseText(text)
        if (parsed.ok) throw new Error('it was taken')
        expect(parsed.failure).to.include(reason)
        expect(parsed.failure.length).to.be.below(200)
      })
    }

    it('an id that would take over the terminal, without repeating it', () => {
      const parsed = parseText(textOf({ instance_id: '\u001b[2J\u202eevil\n'.repeat(99) }))
      expect(JSON.stringify(parsed))
        .to.include('evil')
        .and.not.match(/\\u001b|\u202e|\\n/)
    })
  })

  describe('makes safe to show', () => {
    const dirty = 'a\u001b[31mb\u0000c\nd\u202ee\u{e0041}\u2028f'
    const clean = 'ab c d e f'

    it('every text', () => {
      const record = parse({
        dcc_type: 'ma\u202eya',
        hostname: 'de\u202esk',
        display_name: dirty,
        version: dirty,
        scene: dirty,
        host: { version: dirty, mode: dirty },
        metadata: { [dirty]: [dirty, { deep: dirty }] },
      })
      expect(record).to.deep.include({
        dccType: 'ma ya',
        hostname: 'de sk',
        displayName: clean,
        version: clean,
        scene: clean,
        host: { connected: false, appPid: null, version: clean, mode: clean },
        metadata: { [clean]: [clean, { deep: clean }] },
      })
    })

    it('a text that is nothing but marks, as none', () => {
      expect(parse({ display_name: '\u202e', scene: '\u0007' })).to.include({
        displayName: `blender on ${makeRecord().hostname}`,
        scene: null,
      })
    })

    it('long texts, by cutting them', () => {
      const long = 'x'.repeat(5000)
      const record = parse({ display_name: long, scene: long, host: { version: long } })
      expect(record.displayName).to.have.length(255).and.match(/…$/)
      expect(record.scene).to.have.length(1024).and.match(/…$/)
      expect(record.host.version).to.have.length(255)
    })

    it('large metadata, by their size', () => {
      const { metadata } = parse({ metadata: { a: 'x'.repeat(5000) } })
      expect(metadata).to.have.property('truncated', true)
      expect(metadata).to.have.property('size_bytes').above(4096)
    })

    it('secrets in metadata, by their name', () => {
      const metadata = { api_key: 'k', nested: { sessionToken: 't' }, keyframe: 3 }
      expect(parse({ metadata }).metadata).to.deep.equal({
        api_key: '[redacted]',
        nested: { sessionToken: '[redacted]' },
        keyframe: 3,
      })
    })

    it('names of every object in metadata: they stay names', () => {
      const parsed = parseText(
        textOf({}).replace('"metadata":{', '"metadata":{"__proto__":{"polluted":true},'),
      )
      if (!parsed.ok) throw new Error(parsed.failure)
      expect(parsed.value.metadata).to.not.have.property('polluted')
      expect(Object.keys(parsed.value.metadata)).to.deep.equal(['__proto__', 'studio'])
    })
  })

  const longest = `http://127.0.0.1:1/${'a'.repeat(2029)}`
  const addresses: [url: string, shown: string, isLoopback: boolean][] = [
    ['http://[::1]:8765/mcp', 'http://[::1]:8765/mcp', true],
    ['http://localhost/mcp#part', 'http://localhost/mcp', true],
    ['HTTP://2130706433/', 'http://127.0.0.1/', true],
    // A part of one would lead elsewhere.
    [longest, longest, true],
    ['http://0.0.0.0/', 'http://0.0.0.0/', false],
    ['http://127.0.0.1.evil.example/', 'http://127.0.0.1.evil.example/', false],
    ['http://a.example/\u001b[2J \n', 'http://a.example/%1B[2J', false],
  ]
  for (const [url, shown, isLoopback] of addresses) {
    const address = JSON.stringify(url).slice(0, 60)
    it(`shows ${address} as ${isLoopback ? 'of this machine' : 'foreign'}`, () => {
      expect(parse({ mcp_url: url })).to.include({ mcpUrl: shown, mcpUrlIsLoopback: isLoopback })
    })
  }
})
