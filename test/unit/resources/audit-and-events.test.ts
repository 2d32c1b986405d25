import { expect } from 'chai'
import { AuditLog } from '../../../src/server/resources/audit-log.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { SessionEventsProducer } from '../../../src/server/resources/session-events.ts'
import { codeOf, contents, payload, registry } from './support.ts'

describe('audit://recent', () => {
  it('returns the identical frozen array until the next record', () => {
    const resources = registry()
    const log = new AuditLog()
    resources.wireAuditLog(log)
    const first = contents(resources, 'audit://recent?limit=5')
    expect(contents(resources, 'audit://recent?limit=5')).to.equal(first)
    expect([first, ...first].every(Object.isFrozen)).to.equal(true)
    log.record({ action: 'a' })
    expect(payload(resources, 'audit://recent?limit=5')).to.include({ count: 1 })
  })

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
