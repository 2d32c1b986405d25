import { expect } from 'chai'
import { apiKeyPolicy, AuditLog } from '../../../src/index.ts'
import { ask, initializeBody, postHeaders, RawSession, startServer } from '../../helpers/mcp.ts'
import { facts, readCode, type Scene, serving } from '../facts.ts'

type Entry = Parameters<AuditLog['record']>[0]

function audited(
  check: (scene: Scene, log: AuditLog) => Promise<void>,
  log = new AuditLog(),
): Promise<void> {
  return serving(
    scene => check(scene, log),
    {},
    server => server.resources().wireAuditLog(log),
  )
}

async function onWire(entry: Entry): Promise<any> {
  let read: any
  await audited(async ({ session }, log) => {
    log.record(entry)
    read = (await session.readJson('audit://recent')).entries[0]
  })
  return read
}

facts('decision: what the audit holds', [
  [
    'reads, lists and subscriptions are never recorded',
    () =>
      audited(async ({ session }) => {
        await session.call('resources/list')
        await session.call('resources/read', { uri: 'scene://current' })
        await session.call('resources/subscribe', { uri: 'scene://current' })
        expect(await session.readJson('audit://recent')).to.include({ count: 0 })
      }),
  ],
  [
    'refusals are: 401 and 403, one entry per peer and second',
    async () => {
      const key = 'k'.repeat(43)
      const clock = { timeMs: 1_000_000, now: () => clock.timeMs }
      const running = await startServer({}, { auth: apiKeyPolicy(key), clock }, server =>
        server.resources().wireAuditLog(new AuditLog()),
      )
      try {
        const post = (headers: Record<string, string>) =>
          ask(running.url, {
            method: 'POST',
            headers: { ...postHeaders, ...headers },
            body: initializeBody(),
          })
        const auth = { Authorization: `Bearer ${key}` }
        for (let n = 0; n < 5; n++) expect((await post({})).status).to.equal(401)
        clock.timeMs += 1000
        const foreign = { ...auth, Origin: 'https://evil.example' }
        expect((await post(foreign)).status).to.equal(403)
        const session = await RawSession.open(running.url, '2025-11-25', auth)
        const { entries } = await session.readJson('audit://recent')
        expect(entries.map((entry: any) => entry.outcome)).to.deep.equal([
          { denied: { reason: 'no_credentials' } },
          { denied: { reason: 'origin_not_allowed' } },
        ])
        expect(JSON.stringify(entries)).not.to.include(key)
      } finally {
        await running.stop()
      }
    },
  ],
])

const outcomes = [
  'success',
  'timeout',
  { denied: { reason: 'locked' } },
  { error: { message: 'no such mesh' } },
] as const

facts('decision: audit entry', [
  [
    'all members of a full record',
    async () => {
      const entry = await onWire({
        action: 'mesh.create',
        actor: 'claude',
        params: { size: 2 },
        durationMs: 12.5,
        sessionId: 's1',
        timestamp: '2026-01-02T03:04:05.678Z',
      })
      expect(entry).to.deep.equal({
        id: 1,
        timestamp: '2026-01-02T03:04:05.678Z',
        actor: 'claude',
        action: 'mesh.create',
        params: { size: 2 },
        duration_ms: 12.5,
        outcome: 'success',
        session_id: 's1',
      })
    },
  ],
  [
    'what is not given is null, the time is the server’s, RFC 3339 with milliseconds',
    async () => {
      const entry = await onWire({ action: 'save' })
      expect(entry).to.include({ actor: null, duration_ms: null, session_id: null })
      expect(entry.timestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    },
  ],
  ...outcomes.map(
    outcome =>
      [
        `outcome ${JSON.stringify(outcome)}`,
        async () => {
          expect((await onWire({ action: 'a', outcome })).outcome).to.deep.equal(outcome)
        },
      ] as const,
  ),
  [
    'members that look like secrets become [redacted], others stay',
    async () => {
      const secrets = {
        password: 'x',
        token: 'x',
        client_secret: 'x',
        apiKey: 'x',
        Authorization: 'x',
        cookie: 'x',
      }
      const { params } = await onWire({ action: 'a', params: { deep: [secrets], keyframe: 7 } })
      const redacted = Object.keys(secrets).map(name => [name, '[redacted]'])
      expect(params).to.deep.equal({ deep: [Object.fromEntries(redacted)], keyframe: 7 })
    },
  ],
  [
    'params over 4 KiB are replaced by their size',
    async () => {
      const params = { text: 'x'.repeat(4096) }
      expect((await onWire({ action: 'a', params })).params).to.deep.equal({
        truncated: true,
        size_bytes: 4096 + '{"text":""}'.length,
      })
    },
  ],
  [
    'the payload is limit, count and entries, oldest first; ids are monotonic',
    () =>
      audited(async ({ session }, log) => {
        for (const action of ['one', 'two', 'three']) log.record({ action })
        const payload = await session.readJson('audit://recent?limit=2')
        expect(payload).to.have.all.keys('limit', 'count', 'entries')
        expect(payload).to.include({ limit: 2, count: 2 })
        expect(payload.entries.map((entry: any) => entry.action)).to.deep.equal(['two', 'three'])
        expect(payload.entries.map((entry: any) => entry.id)).to.deep.equal([2, 3])
      }),
  ],
  [
    'the ring keeps 10,000 entries',
    () => {
      const log = new AuditLog()
      for (let n = 0; n < 10_010; n++) log.record({ action: 'a' })
      expect(log.size).to.equal(10_000)
      expect(log.recent(20_000)[0]?.id).to.equal(11)
    },
  ],
])

facts('decision: audit limit', [
  [
    'default 50, clamped to 1…500',
    () =>
      audited(async ({ session }) => {
        for (const [query, limit] of [
          ['', 50],
          ['?limit=-5', 1],
          ['?limit=0', 1],
          ['?limit=7', 7],
          ['?limit=9999999999999999999999', 500],
        ]) {
          expect(await session.readJson(`audit://recent${query}`)).to.include({ limit })
        }
      }),
  ],
  [
    'not a number: −32602',
    () =>
      audited(async ({ session }) => {
        for (const limit of ['ten', '', '1.5', '1e3', '0x10']) {
          expect(await readCode(session, `audit://recent?limit=${limit}`), limit).to.equal(-32602)
        }
      }),
  ],
])
