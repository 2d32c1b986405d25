import { expect } from 'chai'
import { AuditLog } from '../../../src/server/resources/audit-log.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { SessionEventsProducer } from '../../../src/server/resources/session-events.ts'
import { codeOf, payload, registry } from './support.ts'

const cycle: Record<string, unknown> = {}
cycle['self'] = cycle

describe('AuditLog', () => {
  const times: [given: Date | number | string, written: string][] = [
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [1, '1970-01-01T00:00:00.001Z'],
    ['2026-05-06T07:08:09+02:00', '2026-05-06T05:08:09.000Z'],
    ['2026-05-06T07:08:09.1234Z', '2026-05-06T07:08:09.123Z'],
  ]
  for (const [given, written] of times) {
    it(`writes the time ${String(given)} as ${written}`, () => {
      expect(new AuditLog().record({ action: 'a', timestamp: given }).timestamp).to.equal(written)
    })
  }

  const refused: [why: string, record: unknown][] = [
    ['no record', undefined],
    ['no action', {}],
    ['an empty action', { action: '' }],
    ['an unknown outcome', { action: 'a', outcome: 'failed' }],
    ['a denial without reason', { action: 'a', outcome: { denied: {} } }],
    ['an actor of another type', { action: 'a', actor: 5 }],
    ['a negative duration', { action: 'a', durationMs: -1 }],
    ['a time that is none', { action: 'a', timestamp: 'yesterday' }],
  ]
  for (const [why, record] of refused) {
    it(`refuses ${why} and records nothing`, () => {
      const log = new AuditLog()
      expect(() => log.record(record as never)).to.throw(TypeError)
      expect(log.lastId).to.equal(0)
      expect(log.recent(5)).to.deep.equal([])
    })
  }

  const throwing = {
    get a(): never {
      throw new Error('no')
    },
  }
  const odd: [what: string, params: unknown, recorded: unknown][] = [
    ['4096 bytes', 'a'.repeat(4094), 'a'.repeat(4094)],
    ['4097 bytes', 'a'.repeat(4095), { truncated: true, size_bytes: 4097 }],
    ['a size in UTF-8', 'é'.repeat(3000), { truncated: true, size_bytes: 6002 }],
    ['a cycle', cycle, { truncated: true, size_bytes: null }],
    ['a bigint', { a: 1n }, { truncated: true, size_bytes: null }],
    ['a function', () => {}, { truncated: true, size_bytes: null }],
    ['a getter that throws', throwing, { truncated: true, size_bytes: null }],
    [
      'hostile nesting',
      JSON.parse('['.repeat(100) + ']'.repeat(100)),
      { truncated: true, size_bytes: 200 },
    ],
    ['NaN', { a: NaN }, { a: null }],
  ]
  for (const [what, params, recorded] of odd) {
    it(`records params of ${what}`, () => {
      expect(new AuditLog().record({ action: 'a', params }).params).to.deep.equal(recorded)
    })
  }

  it('cuts a reason that is too long', () => {
    const outcome = { denied: { reason: 'é'.repeat(2000) } }
    const denied = { reason: 'é'.repeat(1000) }
    expect(new AuditLog().record({ action: 'a', outcome }).outcome).to.deep.equal({ denied })
  })

  it('keeps 10,000 entries, and gives the last of them in order', () => {
    const log = new AuditLog()
    for (let n = 0; n < 10_010; n++) log.record({ action: 'tick' })
    expect(log.recent(20_000)).to.have.length(10_000)
    expect(log.recent(20_000)[0]?.id).to.equal(11)
    expect(log.recent(2).map(({ id }) => id)).to.deep.equal([10_009, 10_010])
    expect(log.recent(0)).to.deep.equal([])
  })
})

describe('audit://recent', () => {
  it('accepts one AuditLog', () => {
    const resources = registry()
    resources.wireAuditLog(new AuditLog())
    expect(codeOf(() => resources.wireAuditLog(new AuditLog()))).to.equal('usage_invalid')
  })
})

describe('events://session', () => {
  for (const id of ['a/b', 'é€😀', 'a?b#c', '100%', '%2F', '__proto__']) {
    it(`finds the session "${id}" under its escaped URI`, () => {
      const resources = registry()
      const { uri } = new SessionEventBuffer({ sessionId: id })
      resources.registerSessionEventBuffer(new SessionEventBuffer({ sessionId: id }))
      expect(payload(resources, uri)).to.include({ retained_count: 0 })
    })
  }
})

describe('a session event buffer that is removed', () => {
  const listed = (events: SessionEventsProducer) => events.list().map(one => one.uri)

  it('leaves alone another one of the same session', () => {
    const events = new SessionEventsProducer()
    const first = new SessionEventBuffer({ sessionId: 's1' })
    const second = new SessionEventBuffer({ sessionId: 's1' })
    events.register(first)
    expect(events.remove(second)).to.equal(false)
    expect(events.remove(first)).to.equal(true)
    expect(events.remove(first)).to.equal(false)
    events.register(second)
    expect(listed(events)).to.deep.equal(['events://session/s1'])
  })
})
