import { expect } from 'chai'
import { AuditLog } from '../../../src/server/resources/audit-log.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { codeOf, contents, payload, registry } from './support.ts'

describe('audit://recent', () => {
  function audited(records: number): ResourceRegistry {
    const resources = registry()
    const log = new AuditLog()
    resources.wireAuditLog(log)
    for (let n = 0; n < records; n++) log.record({ action: `a${n}` })
    return resources
  }

  it('is empty before a log is wired', () => {
    expect(payload(registry(), 'audit://recent')).to.deep.equal({
      limit: 50,
      count: 0,
      entries: [],
    })
  })

  const limits: [query: string, limit: number][] = [
    ['', 50],
    ['?limit=3', 3],
    ['?limit=0', 1],
    ['?limit=-7', 1],
    ['?limit=500', 500],
    ['?limit=501', 500],
    [`?limit=${'9'.repeat(400)}`, 500],
    ['?other=1', 50],
  ]
  for (const [query, limit] of limits) {
    it(`returns the last ${limit} entries, oldest first, for "${query.slice(0, 20)}"`, () => {
      const answer = payload(audited(600), `audit://recent${query}`)
      expect(answer).to.include({ limit, count: limit })
      const ids = (answer['entries'] as { id: number }[]).map(entry => entry.id)
      expect(ids).to.deep.equal(Array.from({ length: limit }, (_, at) => 601 - limit + at))
    })
  }

  for (const limit of ['', 'x', '1.5', '1e2', '0x10', '+5', '%205', 'NaN']) {
    it(`refuses limit=${limit}`, () => {
      const read = () => registry().read(`audit://recent?limit=${limit}`)
      expect(codeOf(read)).to.equal('resource_uri_invalid')
    })
  }

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

  it('accepts one AuditLog, before start', () => {
    const resources = registry()
    expect(() => resources.wireAuditLog({} as AuditLog)).to.throw(TypeError)
    resources.wireAuditLog(new AuditLog())
    expect(codeOf(() => resources.wireAuditLog(new AuditLog()))).to.equal('usage_invalid')
    const started = registry()
    started.freeze()
    expect(codeOf(() => started.wireAuditLog(new AuditLog()))).to.equal('usage_invalid')
  })
})

describe('events://session', () => {
  const line = { source: 'maya', stream: 'stdout' }

  function withEvents(sessionId: string, count: number): [ResourceRegistry, SessionEventBuffer] {
    const resources = registry()
    const buffer = new SessionEventBuffer({ sessionId, maxlen: 5000 })
    resources.registerSessionEventBuffer(buffer)
    for (let n = 0; n < count; n++) buffer.append({ ...line, message: 'm' })
    return [resources, buffer]
  }

  it('returns the page after cursor with at most limit events', () => {
    const [resources] = withEvents('s1', 10)
    const page = payload(resources, 'events://session/s1?cursor=3&limit=2')
    expect(page).to.include({ cursor: 3, next_cursor: 5, retained_count: 10, dropped_count: 0 })
    expect((page['events'] as { id: number }[]).map(event => event.id)).to.deep.equal([4, 5])
  })

  const limits: [query: string, count: number][] = [
    ['', 100],
    ['?limit=0', 1],
    ['?limit=1000', 1000],
    ['?limit=5000', 1000],
  ]
  for (const [query, count] of limits) {
    it(`returns ${count} events for "${query}"`, () => {
      const [resources] = withEvents('s1', 2000)
      expect(payload(resources, `events://session/s1${query}`)['events']).to.have.length(count)
    })
  }

  it('removes the returned events only with drain', () => {
    const [resources, buffer] = withEvents('s1', 10)
    for (const drain of ['false', '0']) payload(resources, `events://session/s1?drain=${drain}`)
    expect(buffer.retainedCount).to.equal(10)
    payload(resources, 'events://session/s1?limit=4&drain=true')
    expect(buffer.retainedCount).to.equal(6)
    payload(resources, 'events://session/s1?drain=1')
    expect(buffer.retainedCount).to.equal(0)
  })

  for (const query of ['cursor=-1', 'cursor=x', 'cursor=', 'limit=x', 'drain=yes', 'drain=']) {
    it(`refuses ?${query} and drains nothing`, () => {
      const [resources, buffer] = withEvents('s1', 3)
      const read = () => resources.read(`events://session/s1?${query}&drain=true`)
      const codes = [codeOf(read), codeOf(() => resources.read(`events://session/s1?${query}`))]
      expect(codes).to.deep.equal(['resource_uri_invalid', 'resource_uri_invalid'])
      expect(buffer.retainedCount).to.equal(3)
    })
  }

  for (const id of ['a b', 'a/b', 'é€😀', 'a?b#c', '100%', '%2F', '__proto__']) {
    it(`finds the session "${id}" under its escaped URI`, () => {
      const [resources, buffer] = withEvents(id, 1)
      expect(payload(resources, buffer.uri)).to.include({ retained_count: 1 })
    })
  }

  it('serves several sessions, also those registered after start', () => {
    const [resources] = withEvents('s1', 1)
    resources.freeze()
    resources.registerSessionEventBuffer(new SessionEventBuffer({ sessionId: 's2' }))
    expect(payload(resources, 'events://session/s1')).to.include({ retained_count: 1 })
    expect(payload(resources, 'events://session/s2')).to.include({ retained_count: 0 })
  })

  it('refuses a second buffer of a session and other objects', () => {
    const [resources] = withEvents('s1', 1)
    const again = new SessionEventBuffer({ sessionId: 's1' })
    expect(codeOf(() => resources.registerSessionEventBuffer(again))).to.equal('usage_invalid')
    expect(() => resources.registerSessionEventBuffer({} as never)).to.throw(TypeError)
  })
})

describe('a read that fails', () => {
  const cases: [uri: unknown, code: string][] = [
    ['scene://other', 'resource_not_found'],
    ['scene://current/', 'resource_not_found'],
    ['scene:current', 'resource_not_found'],
    ['scene://current#a', 'resource_not_found'],
    ['audit://other', 'resource_not_found'],
    ['audit://recent/5', 'resource_not_found'],
    ['events://session/none', 'resource_not_found'],
    ['events://session/', 'resource_not_found'],
    ['events://', 'resource_not_found'],
    ['nothing://here', 'resource_not_found'],
    ['urn:isbn:1', 'resource_not_found'],
    ['gateway://instances', 'resource_not_found'],
    ['resources://gateway/events', 'resource_not_found'],
    ['capture://other', 'resource_not_found'],
    ['capture://current_window', 'resource_not_enabled'],
    [`artefact://sha256/${'a'.repeat(64)}`, 'resource_not_enabled'],
    ['artefact://anything', 'resource_not_enabled'],
    ['scene://current?a=1&a=2', 'resource_uri_invalid'],
    ['scene//current', 'resource_uri_invalid'],
    [`scene://${'a'.repeat(2048)}`, 'resource_uri_invalid'],
    [undefined, 'resource_uri_invalid'],
    [null, 'resource_uri_invalid'],
    [['scene://current'], 'resource_uri_invalid'],
  ]
  for (const [uri, code] of cases) {
    it(`throws ${code} for ${String(uri).slice(0, 40)}`, () => {
      expect(codeOf(() => registry().read(uri))).to.equal(code)
    })
  }

  it('names the URI that was not found', () => {
    try {
      void registry().read('nothing://here')
      expect.fail('read')
    } catch (error) {
      expect(error).to.deep.include({ data: { uri: 'nothing://here' } })
    }
  })
})
