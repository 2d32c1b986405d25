import { expect } from 'chai'
import { AuditLog } from '../../../src/server/resources/audit-log.ts'
import { ResourceNotFound } from '../../../src/server/resources/errors.ts'
import { parseResourceUri } from '../../../src/server/resources/resource-uri.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { SessionEventsProducer } from '../../../src/server/resources/session-events.ts'
import { codeOf, contents, payload, registry } from './support.ts'

describe('audit://recent', () => {
  it('is empty before a log is wired', () => {
    expect(payload(registry(), 'audit://recent')).to.deep.equal({
      limit: 50,
      count: 0,
      entries: [],
    })
  })

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
  it('drains with drain=true and drain=1 only', () => {
    const resources = registry()
    const buffer = new SessionEventBuffer({ sessionId: 's1' })
    resources.registerSessionEventBuffer(buffer)
    for (let n = 0; n < 10; n++) buffer.append({ source: 'maya', stream: 'stdout', message: 'm' })
    for (const drain of ['false', '0']) payload(resources, `events://session/s1?drain=${drain}`)
    expect(buffer.page().retained_count).to.equal(10)
    payload(resources, 'events://session/s1?limit=4&drain=true')
    expect(buffer.page().retained_count).to.equal(6)
    payload(resources, 'events://session/s1?drain=1')
    expect(buffer.page().retained_count).to.equal(0)
  })

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
  const uri = parseResourceUri('events://session/s1')
  const listed = (events: SessionEventsProducer) => events.list().map(one => one.uri)

  it('is listed and read no more', () => {
    if (!uri.ok) throw new Error(uri.failure)
    const events = new SessionEventsProducer()
    const buffer = new SessionEventBuffer({ sessionId: 's1' })
    events.register(buffer)
    events.register(new SessionEventBuffer({ sessionId: 's2' }))
    expect(listed(events)).to.deep.equal(['events://session/s1', 'events://session/s2'])
    expect(events.remove(buffer)).to.equal(true)
    expect(listed(events)).to.deep.equal(['events://session/s2'])
    expect(() => events.read(uri.value)).to.throw(ResourceNotFound)
  })

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
