import { expect } from 'chai'
import { apiKeyPolicy, AuditLog } from '../../src/index.ts'
import { initialize, RawSession, startServer } from '../helpers/mcp.ts'
import { audit, listAll, listen, readFailure, scene, useServer } from './support.ts'

describe('audit://recent', () => {
  const log = new AuditLog()
  for (let n = 1; n <= 600; n++) log.record({ action: `step.${n}` })
  const section = useServer({}, server => server.resources().wireAuditLog(log))

  async function onWire(entry: Parameters<AuditLog['record']>[0]): Promise<any> {
    log.record(entry)
    return (await section.session.readJson(`${audit}?limit=1`)).entries[0]
  }

  it('is listed as application/json', async () => {
    const listed = (await listAll(section.session)).find(each => each.uri === audit)
    expect(listed).to.include({ mimeType: 'application/json' })
  })

  const limits: [query: string, limit: number][] = [
    ['', 50],
    ['?limit=120', 120],
    ['?limit=500', 500],
    ['?limit=501', 500],
    ['?limit=9999999999999999999999', 500],
    ['?limit=0', 1],
    ['?limit=-5', 1],
  ]
  for (const [query, limit] of limits) {
    it(`has the last ${limit} entries for "${query}", oldest first, with limit and count`, async () => {
      const payload = await section.session.readJson(audit + query)
      expect(payload).to.have.all.keys('limit', 'count', 'entries')
      expect(payload).to.include({ limit, count: limit })
      const last = log.lastId
      const ids = Array.from({ length: limit }, (_, at) => last - limit + 1 + at)
      expect(payload.entries.map((entry: any) => entry.id)).to.deep.equal(ids)
    })
  }

  it('refuses a limit that is no integer with −32602', async () => {
    for (const limit of ['ten', '', '1.5', '1e3', '0x10']) {
      const { code } = await readFailure(section.session, `${audit}?limit=${limit}`)
      expect(code, limit).to.equal(-32602)
    }
  })

  it('has all members of an entry', async () => {
    const entry = await onWire({
      action: 'mesh.create',
      actor: 'claude',
      params: { size: 2 },
      durationMs: 12.5,
      sessionId: 's1',
      timestamp: '2026-01-02T03:04:05.678Z',
      outcome: { denied: { reason: 'locked' } },
    })
    expect(entry).to.deep.equal({
      id: log.lastId,
      timestamp: '2026-01-02T03:04:05.678Z',
      actor: 'claude',
      action: 'mesh.create',
      params: { size: 2 },
      duration_ms: 12.5,
      outcome: { denied: { reason: 'locked' } },
      session_id: 's1',
    })
  })

  it('has null for what was not given, success as outcome, and the time of the server', async () => {
    const entry = await onWire({ action: 'save' })
    expect(entry).to.include({ actor: null, duration_ms: null, session_id: null })
    expect(entry).to.include({ outcome: 'success' })
    expect(entry.timestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it('redacts members that look like secrets, and keeps others', async () => {
    const names = ['password', 'token', 'client_secret', 'apiKey', 'Authorization', 'cookie']
    const secrets = Object.fromEntries(names.map(name => [name, 'x']))
    const { params } = await onWire({ action: 'a', params: { deep: [secrets], keyframe: 7 } })
    const redacted = Object.fromEntries(names.map(name => [name, '[redacted]']))
    expect(params).to.deep.equal({ deep: [redacted], keyframe: 7 })
  })

  it('does not record reads, lists and subscriptions', async () => {
    const { session } = section
    const before = log.lastId
    await session.call('resources/list')
    await session.call('resources/read', { uri: scene })
    await session.call('resources/subscribe', { uri: scene })
    expect(log.lastId).to.equal(before)
  })

  it('sends an update for every record of the wired log, and for no other log', async () => {
    const events = await listen(section.session, audit)
    new AuditLog().record({ action: 'unheard' })
    for (const action of ['a', 'b', 'c']) log.record({ action })
    await events.until(() => events.updates.length === 3)
    expect(events.updates).to.deep.equal([audit, audit, audit])
  })

  it('records refused callers, one entry per peer and second, without the key', async () => {
    const key = 'k'.repeat(43)
    const clock = { timeMs: 1_000_000, now: () => clock.timeMs }
    const running = await startServer({}, { auth: apiKeyPolicy(key), clock }, server =>
      server.resources().wireAuditLog(new AuditLog()),
    )
    const auth = { Authorization: `Bearer ${key}` }
    for (let n = 0; n < 5; n++) expect((await initialize(running.url)).status).to.equal(401)
    clock.timeMs += 1000
    const foreign = { ...auth, Origin: 'https://evil.example' }
    expect((await initialize(running.url, foreign)).status).to.equal(403)
    const session = await RawSession.open(running.url, '2025-11-25', auth)
    const { entries } = await session.readJson(audit)
    expect(entries.map((entry: any) => entry.outcome)).to.deep.equal([
      { denied: { reason: 'no_credentials' } },
      { denied: { reason: 'origin_not_allowed' } },
    ])
    expect(entries[0]).to.deep.include({ action: 'http.request', params: { status: 401 } })
    expect(JSON.stringify(entries)).not.to.include(key)
  })
})
