import { expect } from 'chai'
import { createHash } from 'node:crypto'
import { presencePatch } from '../../../src/server/host/status.ts'
import { bearer, head, json, LinkServer } from './harness.ts'

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

describe('the posts of an application', () => {
  let host: LinkServer
  const limits = { maxArtefactBytes: 300_000 }
  beforeEach(async () => (host = await LinkServer.start({ limits })))

  describe('POST /host/v1/scene', () => {
    it('accepts an object and null and returns the revision', async () => {
      const first = await host.post('/host/v1/scene', '\ufeff{"scene_name":"Küche"}')
      expect(first.status).to.equal(200)
      expect(first.headers['content-type']).to.equal('application/json')
      expect(first.text).to.equal('{"ok":true,"revision":1}')
      const second = await host.post('/host/v1/scene', 'null', {
        ...json,
        'Content-Type': 'Application/JSON; charset=UTF-8',
      })
      expect(second.json).to.deep.equal({ ok: true, revision: 2 })
      expect(host.scenes).to.deep.equal([{ scene_name: 'Küche' }, null])
      expect((await host.post('/host/v1/scene', nested(64))).status).to.equal(200)
    })

    it('returns 409 while a connected application holds the scene', async () => {
      const { scene } = host
      const tell = (connected: boolean) =>
        scene.setApplication({ instanceId: 'run-1', dccType: 'blender', connected })
      tell(true)
      expect((await host.post('/host/v1/scene', '{"before":true}')).status).to.equal(200)
      scene.replaceText('{"live":true}', 'run-1')
      for (const body of ['{"post":true}', 'null']) {
        const refused = await host.post('/host/v1/scene', body)
        expect([refused.status, refused.json.code]).to.deep.equal([409, 'scene-live'])
        expect(scene.text).to.equal('{"live":true}')
      }
      tell(false)
      expect((await host.post('/host/v1/scene', '{"after":true}')).status).to.equal(200)
    })

    const refusals: [what: string, body: string | Buffer][] = [
      ['nothing', ''],
      ['an array', '[1,2]'],
      ['a text', '"scene"'],
      ['65 levels', nested(65)],
      ['5,000 levels', nested(5000)],
      ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ]
    it('returns 400 to what is no scene, and keeps the connection', async () => {
      for (const [what, body] of refusals) {
        const answer = await host.post('/host/v1/scene', body)
        expect(answer.status, what).to.equal(400)
        expect(answer.json.code, what).to.equal('body-invalid')
        expect(answer.headers.connection, what).to.equal('keep-alive')
      }
      host.expectNothingArrived()
    })

    it('says why and where a body is no JSON', async () => {
      const body = '{"objects":[\n  {"id":"A"},\n]}'
      const said = 'is not valid JSON: trailing comma (line 3, column 1)'
      const answer = await host.post('/host/v1/scene', body)
      expect(answer.json).to.include({ detail: `scene ${said}` })
      const patched = await host.send('PATCH', '/host/v1/scene', json, body)
      expect(patched.json).to.include({ detail: `the body ${said}` })
    })

    it('returns 500 without a reason when the server fails, and logs it', async () => {
      const answer = await host.post('/host/v1/scene', '{"explode":1}')
      expect(answer.status).to.equal(500)
      expect(answer.json.code).to.equal('internal')
      expect(answer.text).not.to.match(/shadow|at .*:\d+/)
      expect(host.errors).to.have.length(1)
    })
  })

  describe('PATCH /host/v1/scene', () => {
    const scene = { frame: 1, objects: [{ id: 'Cube', x: 0 }, { id: 'Lamp' }] }
    const post = () => host.post('/host/v1/scene', JSON.stringify(scene))
    const patch = (body: unknown) =>
      host.send('PATCH', '/host/v1/scene', json, JSON.stringify(body))
    const current = () => JSON.parse(host.scene.text ?? 'null')

    it('changes the scene, and returns the revision', async () => {
      await post()
      const objects = [{ id: 'Cube', x: 1 }]
      const answer = await patch({ objects, removed: ['Lamp'], members: { frame: 2 } })
      expect([answer.status, answer.json]).to.deep.equal([200, { ok: true, revision: 2 }])
      expect(current()).to.deep.equal({ frame: 2, objects })
      expect((await patch({ base: 2, unset: ['frame'] })).json).to.include({ revision: 3 })
      expect(current()).to.deep.equal({ objects })
    })

    it('warns of numbers that became null, once, until a whole scene comes', async () => {
      await host.post('/host/v1/scene', '{"x":1e999}')
      const count = 1
      expect(current()).to.deep.equal({ x: null, warnings: [{ code: 'number_not_finite', count }] })
      await post()
      const send = (body: string) => host.send('PATCH', '/host/v1/scene', json, body)
      await send('{"objects":[{"id":"Cube","x":NaN}]}')
      await send('{"members":{"lens":Infinity,"half":"\\udcff"}}')
      await send('{"members":{"frame":2}}')
      const warnings = [{ code: 'text_not_unicode' }, { code: 'number_not_finite', count: 1 }]
      expect(current()).to.deep.include({ warnings, lens: null, half: '\ufffd' })
      await post()
      expect(current()).to.deep.equal(scene)
    })

    it('returns 409 on another revision, without a scene, and while an application holds it', async () => {
      expect((await patch({ unset: ['a'] })).json).to.include({ code: 'scene-stale', status: 409 })
      await post()
      expect((await patch({ base: 7, unset: ['a'] })).json).to.include({ code: 'scene-stale' })
      host.scene.setApplication({ instanceId: 'run-1', dccType: 'blender', connected: true })
      host.scene.replaceText(JSON.stringify(scene), 'run-1')
      expect((await patch({ unset: ['frame'] })).json).to.include({ code: 'scene-live' })
      host.scene.setApplication({ instanceId: 'run-1', dccType: 'blender', connected: false })
      expect((await patch({ unset: ['frame'] })).json).to.include({ code: 'scene-stale' })
      expect(current()).to.deep.equal(scene)
    })
  })

  describe('POST /host/v1/app', () => {
    const post = (body: unknown) => host.post('/host/v1/app', JSON.stringify(body))

    it('says what is open, and in which kind of application', async () => {
      const document = { path: '/shots/010.hip', name: '010.hip', modified: true }
      expect((await post({ document, dcc_type: 'houdini' })).json).to.deep.equal({ ok: true })
      expect((await post({ document: null })).status).to.equal(200)
      const given = { dccType: 'unknown', named: false, hostname: 'rig' }
      const [first, second] = host.presences.map(presence => presencePatch(presence, given))
      expect(first).to.deep.include({ scene: '/shots/010.hip', dcc_type: 'houdini' })
      expect(first).to.have.property('display_name', 'houdini on rig')
      expect(second).to.deep.include({ scene: null, dcc_type: 'unknown' })
      expect(host.presences.every(({ connected }) => !connected)).to.equal(true)
    })

    it('returns 409 while an application is connected', async () => {
      const app = { instanceId: 'run-1', dccType: 'blender' }
      host.scene.setApplication({ ...app, connected: true })
      const refused = await post({ document: null })
      expect(refused.status).to.equal(409)
      expect(refused.json.code).to.equal('scene-live')
      host.scene.setApplication({ ...app, connected: false })
      expect((await post({ document: null })).status).to.equal(200)
      expect(host.presences).to.have.length(1)
    })

    const wrong: [body: unknown, pointer: string][] = [
      [{}, '/document'],
      ['text', ''],
      [{ document: '/shots/010.hip' }, '/document'],
      [{ document: { path: 'x'.repeat(4097) } }, '/document/path'],
      [{ document: null, dcc_type: 'Maya 2026' }, '/dcc_type'],
    ]
    it('returns 400 to what is wrong, names the member, and keeps what was said', async () => {
      for (const [body, pointer] of wrong) {
        const answer = await post(body)
        expect(answer.status, pointer).to.equal(400)
        expect(answer.json.errors?.[0]?.pointer).to.equal(pointer)
      }
      expect(host.presences).to.deep.equal([])
    })
  })

  describe('POST /host/v1/audit', () => {
    const record = {
      action: 'render.start',
      outcome: { denied: { reason: 'busy' } },
      actor: 'anna',
      params: { quality: 3 },
      duration_ms: 12.5,
      session_id: 's-1',
      timestamp: '2026-03-04T05:06:07+01:00',
    }
    const post = (records: unknown[]) => host.post('/host/v1/audit', JSON.stringify({ records }))

    it('records every member', async () => {
      const answer = await post([record, { action: 'save', actor: null }])
      expect(answer.text).to.equal('{"ok":true,"count":2}')
      const { duration_ms: durationMs, session_id: sessionId, ...rest } = record
      const timestamp = '2026-03-04T04:06:07.000Z'
      const [whole, short] = host.records
      expect(whole).to.deep.equal({ ...rest, durationMs, sessionId, timestamp })
      expect(short).to.deep.include({ action: 'save', actor: undefined })
    })

    it('records nothing of a post with one invalid record, or with more than 100', async () => {
      const invalid = await post([record, record, { action: 7 }])
      expect(invalid.status).to.equal(400)
      expect(invalid.json.errors).to.deep.equal([
        { pointer: '/records/2/action', detail: 'must be a string' },
      ])
      const tooMany = await post(Array(101).fill({ action: 'a' }))
      expect(tooMany.status).to.equal(400)
      expect(tooMany.json.errors?.[0]?.pointer).to.equal('/records')
      host.expectNothingArrived()
      expect((await post(Array(100).fill({ action: 'a' }))).json).to.deep.include({ count: 100 })
    })
  })

  describe('POST /host/v1/events/<session_id>', () => {
    const event = { source: 'blender', stream: 'stdout', level: 'warn', message: 'low memory' }
    const post = (session: string, events: unknown) =>
      host.post(`/host/v1/events/${session}`, JSON.stringify({ events }))

    it('creates the buffer and appends every member', async () => {
      const ids = { tool_call_id: 't', job_id: 'j', correlation_id: 'c', session_id: 'job:1' }
      const full = { ...event, ...ids, metadata: { frame: 4 } }
      const answer = await post('job%3A1', [full, { source: 'a', stream: 'b', message: '' }])
      expect(answer.status).to.equal(200)
      expect(answer.text).to.equal('{"ok":true,"next_cursor":2,"dropped":0}')
      const [first, second] = (await host.read('events://session/job%3A1')).events
      expect(first).to.deep.include({ ...full, level: 'warning' })
      const empty = { tool_call_id: null, job_id: null, correlation_id: null }
      expect(second).to.include({ source: 'a', stream: 'b', level: 'info', message: '', ...empty })
    })

    it('keeps 100 buffers, and removes the one used longest ago for another one', async () => {
      for (let number = 0; number < 100; number++) await post(`s${number}`, [event])
      await post('s0', [event])
      await post('new', [event])
      const kept = await host.buffers()
      expect(kept).to.have.length(100).and.include.members(['s0', 's2', 'new'])
      expect(kept).not.to.include('s1')
    })

    it('appends and creates nothing for one invalid event, or with an invalid session id', async () => {
      const answer = await post('s', [event, { ...event, level: 'loud' }])
      expect(answer.status).to.equal(400)
      expect(answer.json.errors?.[0]?.pointer).to.equal('/events/1/level')
      for (const id of ['..%2f..%2fetc', 'a%00b', '%zz']) {
        expect((await post(id, [event])).status, id).to.equal(400)
      }
      host.expectNothingArrived()
    })
  })

  describe('POST and DELETE /host/v1/artefacts', () => {
    const png = { ...bearer, 'Content-Type': 'image/png' }
    const bytes = Buffer.from([0, 255, 1, 254, 10, 13])
    const hex = createHash('sha256').update(bytes).digest('hex')

    it('stores the raw body under its hash and tells whether it was there', async () => {
      const first = await host.post('/host/v1/artefacts', bytes, png)
      expect(first.status).to.equal(201)
      expect(first.text).to.equal(
        JSON.stringify({ uri: `artefact://sha256/${hex}`, sha256: hex, existed: false }),
      )
      const second = await host.post('/host/v1/artefacts', bytes, png)
      expect(second.json.existed).to.equal(true)
      expect(host.memory.stored.get(hex)?.bytes.equals(bytes)).to.equal(true)
    })

    it('hands over the content type and every sidecar member', async () => {
      const query = new URLSearchParams({
        display_name: 'frame 0001 + ä.png',
        session_id: 's',
        tool_call_id: 't',
        job_id: 'j',
        correlation_id: 'c',
        expires_at: '2030-01-02T03:04:05Z',
        metadata: '{"frame":[1]}',
      })
      await host.post(`/host/v1/artefacts?${query}`, bytes, png)
      expect(host.memory.stored.get(hex)?.fields).to.deep.equal({
        mime: 'image/png',
        display_name: 'frame 0001 + ä.png',
        session_id: 's',
        tool_call_id: 't',
        job_id: 'j',
        correlation_id: 'c',
        expires_at: '2030-01-02T03:04:05.000Z',
        metadata: { frame: [1] },
      })
    })

    const wrong: [query: string, pointer: string][] = [
      ['expires_at=tomorrow', '/expires_at'],
      ['metadata={', '/metadata'],
      [`metadata=${'['.repeat(65)}`, '/metadata'],
      [`job_id=${'x'.repeat(256)}`, '/job_id'],
    ]
    it('answers 400 to a wrong query, and names the parameter', async () => {
      for (const [query, pointer] of wrong) {
        const answer = await host.post(`/host/v1/artefacts?${query}`, bytes, png)
        expect(answer.status, query).to.equal(400)
        expect(answer.json.errors?.[0]?.pointer).to.equal(pointer)
      }
      expect(host.memory.stored.size).to.equal(0)
    })

    it('answers 413 to a declared length over the limit, before reading', async () => {
      const raw = await host.raw()
      raw.write(head('/host/v1/artefacts', { ...bearer, 'Content-Length': 300_001 }))
      const [answer] = await raw.answers(1)
      expect(answer?.status).to.equal(413)
      expect(host.memory.broken).to.equal(1)
    })

    it('answers 413 to a stream over the limit and stores nothing', async () => {
      const chunked = { ...png, 'Transfer-Encoding': 'chunked' }
      const answer = await host.post('/host/v1/artefacts', Buffer.alloc(300_001), chunked)
      expect(answer.status).to.equal(413)
      expect(answer.headers.connection).to.equal('close')
      expect(host.memory.stored.size).to.equal(0)
      const fits = await host.post('/host/v1/artefacts', Buffer.alloc(300_000), chunked)
      expect(fits.status).to.equal(201)
    })

    it('stores nothing of an upload that breaks off', async () => {
      const raw = await host.raw()
      const started = new Promise<void>(resolve => (host.memory.onFirstBytes = resolve))
      const broken = new Promise<void>(resolve => (host.memory.onBroken = resolve))
      raw.write(`${head('/host/v1/artefacts', { ...png, 'Content-Length': 1000 })}half`)
      await started
      raw.close()
      await broken
      expect(host.memory.stored.size).to.equal(0)
      expect(host.errors).to.deep.equal([])
    })

    const remove = (name: string, headers = bearer) =>
      host.send('DELETE', `/host/v1/artefacts/${name}`, headers)

    it('removes what is stored, once, and refuses what is no name', async () => {
      await host.post('/host/v1/artefacts', bytes, png)
      const removed = await remove(hex)
      expect([removed.status, removed.text]).to.deep.equal([
        200,
        JSON.stringify({ ok: true, uri: `artefact://sha256/${hex}` }),
      ])
      expect(host.memory.stored.size).to.equal(0)
      const again = await remove(hex)
      expect([again.status, again.json.code]).to.deep.equal([404, 'resource-not-found'])
      for (const name of ['', hex.toUpperCase(), hex.slice(1), `..%2f${hex}`]) {
        expect((await remove(name)).status, name).to.be.oneOf([400, 404])
      }
      const other = await host.send('GET', `/host/v1/artefacts/${hex}`, bearer)
      expect([other.status, other.headers.allow]).to.deep.equal([405, 'DELETE'])
    })
  })
})
