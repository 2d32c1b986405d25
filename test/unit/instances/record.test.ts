import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type InstanceRecord, parseRecord } from '../../../src/lib/instances/record.ts'
import { makeRecord } from '../../server/gateway/support.ts'

const id = '0f0e0d0c-1111-4222-8333-444455556666'
const textOf = (changes: object) =>
  JSON.stringify({ ...makeRecord({ instance_id: id }), ...changes })

function parse(changes: object): InstanceRecord {
  const parsed = parseRecord(textOf(changes), id)
  if (!parsed.ok) throw new Error(parsed.failure)
  return parsed.value
}

describe('parseRecord', () => {
  it('reads what a server writes, and leaves out members of later writers', () => {
    const record = makeRecord({ instance_id: id, pid_start: 'boot:1' })
    expect(parse({ ...record, later: { a: 1 } })).to.deep.equal(record)
  })

  const names = Array.from({ length: 50 }, () => 'x'.repeat(200))
  const metadata = '['.repeat(200) + ']'.repeat(200)
  const bad: [what: string, text: string, reason: string][] = [
    ['half a record', textOf({}).slice(0, 100), 'not valid JSON'],
    ['a list', '[]', 'expected object'],
    ['a giant', textOf({ scene: 'x'.repeat(70_000) }), 'larger than 65536 bytes'],
    ['deep nesting', `{"metadata":${metadata}}`, 'not valid JSON'],
    ['a newer version', textOf({ schema_version: 2 }), 'schema_version'],
    ['the id of another', textOf({ instance_id: randomUUID() }), 'instance_id'],
    ['an id that is a path', textOf({ instance_id: '../x' }), 'instance_id'],
    ['no kind', textOf({ dcc_type: undefined }), 'dcc_type'],
    ['an invisible kind', textOf({ dcc_type: '\u202e\u2066' }), 'dcc_type: must not be empty'],
    ["the gateway's own kind", textOf({ dcc_type: '__gateway__' }), 'must not begin with'],
    ['a pid of the own group', textOf({ pid: 0 }), 'pid'],
    ['a script as address', textOf({ mcp_url: 'javascript:alert(1)' }), 'mcp_url'],
    ['an address with a password', textOf({ mcp_url: 'http://u:p@127.0.0.1/' }), 'mcp_url'],
    ['a wrong host', textOf({ host: { connected: 'yes' } }), 'host.connected'],
    ['an unknown status', textOf({ status: 'fine' }), 'status'],
    ['a start in words', textOf({ started_at: 'yesterday' }), 'started_at'],
    ['a list of metadata', textOf({ metadata: ['a'] }), 'metadata'],
    ['large metadata', textOf({ metadata: Object.fromEntries(names.entries()) }), 'too large'],
  ]
  for (const [what, text, reason] of bad) {
    it(`refuses ${what}: ${reason}`, () => {
      const parsed = parseRecord(text, id)
      if (parsed.ok) throw new Error('it was taken')
      expect(parsed.failure).to.include(reason)
      expect(parsed.failure.length).to.be.at.most(200)
    })
  }

  it('makes every text a single line that is safe to show, and cuts long ones', () => {
    const dirty = 'a\u001b[31mb\u0000c\nd\u202ee\u{e0041}\u2028f'
    const clean = 'ab c d e f'
    const record = parse({
      dcc_type: 'ma\u202eya',
      hostname: 'de\u202esk',
      display_name: dirty,
      version: dirty,
      scene: 'x'.repeat(5000),
      host: { connected: true, app_pid: 7, version: dirty, mode: dirty },
      metadata: { [dirty]: dirty },
    })
    expect(record).to.deep.include({
      dcc_type: 'ma ya',
      hostname: 'de sk',
      display_name: clean,
      version: clean,
      host: { connected: true, app_pid: 7, version: clean, mode: clean },
      metadata: { [clean]: clean },
    })
    expect(record.scene).to.have.length(1024).and.match(/…$/)
  })

  it('normalises the address for clients, and times', () => {
    const record = parse({ mcp_url: 'HTTP://2130706433/', started_at: '2026-01-02T05:04:05+02:00' })
    expect(record).to.include({
      mcp_url: 'http://127.0.0.1/',
      started_at: '2026-01-02T03:04:05.000Z',
    })
  })
})
