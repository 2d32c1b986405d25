import { expect } from 'chai'
import { defaultLimits } from '../../../src/lib/config/limits.ts'
import { ResourceNotFound } from '../../../src/server/resources/errors.ts'
import { parseResourceUri } from '../../../src/server/resources/resource-uri.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { SessionEventsProducer } from '../../../src/server/resources/session-events.ts'

describe('a listed session event buffer', () => {
  it('says what it is', () => {
    const events = new SessionEventsProducer(defaultLimits)
    events.register(new SessionEventBuffer({ sessionId: 'blender-console-7' }))
    const [descriptor] = events.list()
    expect(descriptor).to.include({ name: 'Events of session blender-console-7' })
    expect(descriptor?.description).to.contain('console output, errors')
  })
})

describe('a session event buffer that is removed', () => {
  const uri = parseResourceUri('events://session/s1', 1000)
  const listed = (events: SessionEventsProducer) => events.list().map(one => one.uri)

  it('is listed, completed and read no more', () => {
    if (!uri.ok) throw new Error(uri.failure)
    const events = new SessionEventsProducer(defaultLimits)
    const buffer = new SessionEventBuffer({ sessionId: 's1' })
    events.register(buffer)
    events.register(new SessionEventBuffer({ sessionId: 's2' }))
    expect(listed(events)).to.deep.equal(['events://session/s1', 'events://session/s2'])
    expect(events.remove(buffer)).to.equal(true)
    expect(listed(events)).to.deep.equal(['events://session/s2'])
    const context = { uriTemplate: '', resolved: new Map() }
    expect(events.complete('session_id', '', context)).to.deep.equal(['s2'])
    expect(() => events.read(uri.value)).to.throw(ResourceNotFound)
  })

  it('leaves alone another one of the same session', () => {
    const events = new SessionEventsProducer(defaultLimits)
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
