import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { type Limits, resolveLimits } from '../../../src/lib/config/limits.ts'
import { AuditLog } from '../../../src/server/resources/audit-log.ts'
import type { Content } from '../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'

function registry(limits: Partial<Limits> = {}): ResourceRegistry {
  return new ResourceRegistry({ limits: resolveLimits(limits), enableArtefactResources: false })
}

/** Built-in resources answer at once, never with a promise. */
function contents(resources: ResourceRegistry, uri: string): readonly Content[] {
  const answer = resources.read(uri)
  if (answer instanceof Promise) throw new Error(`${uri} was not read synchronously`)
  return answer
}

function payload(resources: ResourceRegistry, uri: string): Record<string, unknown> {
  const [content, ...more] = contents(resources, uri)
  if (content === undefined || !('text' in content)) throw new Error(`${uri} has no text`)
  expect(more).to.deep.equal([])
  expect(content).to.include({ uri, mimeType: 'application/json' })
  return JSON.parse(content.text) as Record<string, unknown>
}

function codeOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
  return 'none'
}

describe('scene://current', () => {
  it('answers a placeholder until a scene is set, and again after it is cleared', () => {
    const resources = registry()
    expect(payload(resources, 'scene://current')).to.include({ status: 'no_snapshot' })
    expect(resources.setScene({ frame: 1 })).to.equal(1)
    expect(payload(resources, 'scene://current')).to.deep.equal({ frame: 1 })
    expect(resources.setScene(null)).to.equal(2)
    const { status, hint } = payload(resources, 'scene://current')
    expect(status).to.equal('no_snapshot')
    expect(hint).to.contain('the scene was withdrawn')
  })

  it('passes JSON text through as it is', () => {
    const resources = registry()
    resources.setSceneText('{ "frame": 1 }')
    expect(contents(resources, 'scene://current')[0]).to.include({
      ...{ uri: 'scene://current', mimeType: 'application/json', text: '{ "frame": 1 }' },
    })
  })

  it('answers the identical frozen array until the next scene', () => {
    const resources = registry()
    resources.setScene({ frame: 1 })
    const first = contents(resources, 'scene://current')
    expect(contents(resources, 'scene://current')).to.equal(first)
    expect([first, ...first].every(Object.isFrozen)).to.equal(true)
    resources.setScene({ frame: 1 })
    expect(contents(resources, 'scene://current')).not.to.equal(first)
  })

  it('echoes the URI as it was asked for', () => {
    const resources = registry()
    resources.setScene({ frame: 1 })
    for (const uri of ['SCENE://current', 'scene://%63urrent']) {
      expect(payload(resources, uri)).to.deep.equal({ frame: 1 })
    }
  })
})

describe('unknown query parameters of a scene', () => {
  for (const [uri, known] of [
    ['scene://current?x=1', 'it has none'],
    ['scene://delta?sinse=1', 'known: since'],
    ['scene://delta?since=0&x', 'known: since'],
  ] as const) {
    it(`are refused when ${uri} is read and when it is subscribed to`, () => {
      const resources = registry()
      for (const call of [() => resources.read(uri), () => resources.assertSubscribable(uri)]) {
        expect(call).to.throw(ServiceError, known).with.property('code', 'resource_uri_invalid')
      }
    })
  }
})

describe('facts about the scene', () => {
  const meta = (resources: ResourceRegistry, uri = 'scene://current') =>
    contents(resources, uri)[0]?._meta?.['service-cli/scene']

  it('stand beside every scene content: revision, time, size, application', () => {
    const clock = { now: () => 5000 }
    const limits = resolveLimits()
    const parts = { limits, clock, firstRevision: 70, enableArtefactResources: false }
    const resources = new ResourceRegistry(parts)
    const none = { revision: 70, set_at: null, size: 0, application: null }
    expect(meta(resources)).to.deep.equal(none)
    resources.setScene({ frame: 1 })
    const facts = { revision: 71, set_at: '1970-01-01T00:00:05.000Z', size: 11, application: null }
    for (const uri of ['scene://current', 'SCENE://current', 'scene://delta?since=70']) {
      expect(meta(resources, uri), uri).to.deep.equal(facts)
    }
  })

  it('say that the application is gone, since when, and that it is back; each is announced', () => {
    let nowMs = 1000
    const clock = { now: () => nowMs }
    const parts = { limits: resolveLimits(), clock, enableArtefactResources: false }
    const resources = new ResourceRegistry(parts)
    const updates: string[] = []
    resources.listen({ resourceUpdated: uri => void updates.push(uri), listChanged() {} })
    const blender = { instanceId: 'run-1', dccType: 'blender' }
    resources.scene.tell({ ...blender, connected: true })
    resources.setSceneText('{"frame":1}', 'run-1')
    updates.splice(0)
    const states = [false, false, true].map(connected => {
      nowMs += 1000
      resources.scene.tell({ ...blender, connected })
      return meta(resources)
    })
    const gone = { connected: false, dcc_type: 'blender', since: '1970-01-01T00:00:02.000Z' }
    const back = { connected: true, dcc_type: 'blender', since: '1970-01-01T00:00:04.000Z' }
    const scene = { revision: 1, set_at: '1970-01-01T00:00:01.000Z', size: 11 }
    expect(states).to.deep.equal([gone, gone, back].map(application => ({ ...scene, application })))
    expect(updates).to.deep.equal(['scene://current', 'scene://current'])
    expect(payload(resources, 'scene://current')).to.deep.equal({ frame: 1 })
  })

  it('speak of the application that set the scene until the next one sets its own', () => {
    const resources = registry()
    const connected = { connected: true, dcc_type: 'blender' }
    resources.scene.tell({ instanceId: 'run-1', dccType: 'blender', connected: true })
    expect(meta(resources)).to.have.deep.nested.include({ 'application.connected': true })
    resources.setSceneText('{"a":1}', 'run-1')
    resources.scene.tell({ instanceId: 'run-1', dccType: 'blender', connected: false })
    resources.scene.tell({ instanceId: 'run-2', dccType: 'blender', connected: true })
    expect(meta(resources)).to.have.nested.include({ 'application.connected': false })
    resources.setSceneText('{"a":2}', 'run-2')
    expect((meta(resources) as { application: object }).application).to.include(connected)
    resources.setScene({ a: 3 })
    expect(meta(resources)).to.include({ application: null })
  })
})

describe('scene://delta', () => {
  it('is a reset where the base is of an earlier application', () => {
    const resources = registry()
    for (const frame of [1, 2]) resources.setSceneText(`{"frame":${frame}}`, 'run-1')
    resources.setSceneText('{"frame":3}', 'run-2')
    for (const query of ['', '?since=1', '?since=2']) {
      const read = payload(resources, `scene://delta${query}`)
      expect(read, query).to.deep.equal({ reset: true, revision: 3 })
    }
    expect(payload(resources, 'scene://delta?since=3')).to.include({ base_revision: 3 })
  })

  it('is a reset where it would be larger than the scene', () => {
    const resources = registry()
    const objects = Array.from({ length: 100 }, (_, at) => ({ id: `Cube.${at}`, at }))
    resources.setScene({ objects })
    resources.setScene({ objects: objects.slice(0, 1) })
    expect(payload(resources, 'scene://delta')).to.deep.equal({ reset: true, revision: 2 })
    resources.setScene({ objects })
    expect(payload(resources, 'scene://delta?since=1')).to.include({ truncated: false })
  })

  it('calls objects beyond the limit omitted and listed, never removed or added', () => {
    const resources = registry()
    const [cube, lamp] = [{ id: 'Cube' }, { id: 'Lamp' }]
    const scenes = [{ objects: [cube, lamp] }, { objects: [cube], omitted: ['Lamp'] }]
    for (const scene of [...scenes, scenes[0]!, { objects: [cube] }]) resources.setScene(scene)
    const kinds = [1, 2, 3].map(since => {
      const { changes } = payload(resources, `scene://delta?since=${since}`)
      return (changes as { path: string; kind: string }[])
        .filter(({ path }) => path === '/objects/1')
        .map(({ kind }) => kind)
    })
    expect(kinds).to.deep.equal([['removed'], [], ['removed']])
    resources.setScene(scenes[1]!)
    expect(payload(resources, 'scene://delta?since=3')['changes']).to.deep.equal([
      { path: '/objects/1', kind: 'omitted', before: lamp },
      { path: '/omitted', kind: 'added', after: ['Lamp'] },
    ])
    resources.setScene(scenes[0]!)
    expect(payload(resources, 'scene://delta')['changes']).to.deep.equal([
      { path: '/omitted', kind: 'removed', before: ['Lamp'] },
      { path: '/objects/1', kind: 'listed', after: lamp },
    ])
  })

  it('calls no object removed while the list of omitted objects is incomplete', () => {
    const resources = registry()
    const [cube, lamp] = [{ id: 'Cube' }, { id: 'Lamp' }]
    const kindSince = (since: number): unknown =>
      (payload(resources, `scene://delta?since=${since}`)['changes'] as { path: string }[]).find(
        ({ path }) => path === '/objects/1',
      )
    const partial = { objects: [cube], omitted: ['Tree'], truncated: { total: 3 } }
    for (const scene of [{ objects: [cube, lamp] }, partial]) resources.setScene(scene)
    expect(kindSince(1)).to.include({ kind: 'omitted' })
    resources.setScene({ objects: [cube, lamp], omitted: ['Tree'], truncated: { total: 3 } })
    expect(kindSince(2)).to.include({ kind: 'listed' })
    resources.setScene({ objects: [cube], omitted: ['Tree'], truncated: { total: 2 } })
    expect(kindSince(3)).to.include({ kind: 'removed' })
  })

  it('answers the placeholder without a scene', () => {
    const resources = registry()
    expect(payload(resources, 'scene://delta')).to.include({ status: 'no_snapshot' })
    resources.setScene({})
    resources.setScene(null)
    expect(payload(resources, 'scene://delta?since=1')).to.include({ status: 'no_snapshot' })
  })

  it('names all members of the first scene as added', () => {
    const resources = registry()
    resources.setScene({ frame: 1 })
    expect(payload(resources, 'scene://delta')).to.deep.equal({
      base_revision: 0,
      revision: 1,
      changes: [{ path: '/frame', kind: 'added', after: 1 }],
      truncated: false,
    })
  })

  it('goes from the revision before, or from the one named', () => {
    const resources = registry()
    for (const frame of [1, 2, 3]) resources.setScene({ frame })
    const change = (before: number) => [{ path: '/frame', kind: 'changed', before, after: 3 }]
    expect(payload(resources, 'scene://delta')).to.deep.include({
      base_revision: 2,
      changes: change(2),
    })
    expect(payload(resources, 'scene://delta?since=1')).to.deep.include({
      base_revision: 1,
      changes: change(1),
    })
    expect(payload(resources, 'scene://delta?since=3')).to.deep.include({
      base_revision: 3,
      changes: [],
    })
  })

  it('asks the reader to start again from an unknown revision', () => {
    const resources = registry({ maxSceneRevisions: 2 })
    for (const frame of [1, 2, 3]) resources.setScene({ frame })
    for (const since of [0, 1, 4, 999]) {
      expect(payload(resources, `scene://delta?since=${since}`)).to.deep.equal({
        reset: true,
        revision: 3,
      })
    }
  })

  it('starts again when only the current scene fits the history', () => {
    const resources = registry({ maxSceneRevisionBytes: 1 })
    resources.setScene({ frame: 1 })
    resources.setScene({ frame: 2 })
    expect(payload(resources, 'scene://delta')).to.deep.equal({ reset: true, revision: 2 })
  })

  it('lists at most as many changes as allowed and says so', () => {
    const resources = registry({ maxSceneChanges: 2 })
    resources.setScene({ a: 1, b: 2, c: 3 })
    const delta = payload(resources, 'scene://delta')
    expect(delta['changes']).to.have.length(2)
    expect(delta['truncated']).to.equal(true)
  })

  for (const since of ['', '-1', '1.5', 'x', '1e3', '99999999999999999999', '%201']) {
    it(`refuses since=${since}, with and without a scene`, () => {
      const resources = registry()
      const read = () => resources.read(`scene://delta?since=${since}`)
      expect(codeOf(read)).to.equal('resource_uri_invalid')
      resources.setScene({})
      expect(codeOf(read)).to.equal('resource_uri_invalid')
    })
  }

  it('is computed once for many readers of one revision', () => {
    const resources = registry()
    resources.setScene({ frame: 1 })
    const first = contents(resources, 'scene://delta')
    expect(contents(resources, 'scene://delta')).to.equal(first)
    resources.setScene({ frame: 1 })
    expect(contents(resources, 'scene://delta')).not.to.equal(first)
  })

  it('keeps only so many answers', () => {
    const kept = registry({ maxKeptAnswers: 1 })
    const bytes = registry({ maxKeptAnswerBytes: 1 })
    for (const resources of [kept, bytes]) resources.setScene({ frame: 1 })
    contents(kept, 'scene://delta')
    const second = contents(kept, 'scene://delta?since=0')
    expect(contents(kept, 'scene://delta?since=0')).not.to.equal(second)
    expect(contents(bytes, 'scene://delta')).not.to.equal(contents(bytes, 'scene://delta'))
  })
})

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
    it(`gives the last ${limit} entries, oldest first, for "${query.slice(0, 20)}"`, () => {
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

  it('answers the identical frozen array until the next record', () => {
    const resources = registry()
    const log = new AuditLog()
    resources.wireAuditLog(log)
    const first = contents(resources, 'audit://recent?limit=5')
    expect(contents(resources, 'audit://recent?limit=5')).to.equal(first)
    expect([first, ...first].every(Object.isFrozen)).to.equal(true)
    log.record({ action: 'a' })
    expect(payload(resources, 'audit://recent?limit=5')).to.include({ count: 1 })
  })

  it('wires one log, an AuditLog, before start', () => {
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

  it('gives a page with its parameters', () => {
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
    it(`gives ${count} events for "${query}"`, () => {
      const [resources] = withEvents('s1', 2000)
      expect(payload(resources, `events://session/s1${query}`)['events']).to.have.length(count)
    })
  }

  it('drains when asked to, and only then', () => {
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

  it('serves several sessions side by side, also registered after start', () => {
    const [resources] = withEvents('s1', 1)
    resources.freeze()
    resources.registerSessionEventBuffer(new SessionEventBuffer({ sessionId: 's2' }))
    expect(payload(resources, 'events://session/s1')).to.include({ retained_count: 1 })
    expect(payload(resources, 'events://session/s2')).to.include({ retained_count: 0 })
  })

  it('refuses a second buffer of the same session, and what is no buffer', () => {
    const [resources] = withEvents('s1', 1)
    const again = new SessionEventBuffer({ sessionId: 's1' })
    expect(codeOf(() => resources.registerSessionEventBuffer(again))).to.equal('usage_invalid')
    expect(() => resources.registerSessionEventBuffer({} as never)).to.throw(TypeError)
  })
})

describe('errors of a read', () => {
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
    it(`${String(uri).slice(0, 40)} → ${code}`, () => {
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
