import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Harness, bearer, head, json } from './harness.ts'
import { skipBecause } from '../../helpers/skip.ts'

const outerAddress = Object.values(networkInterfaces())
  .flatMap(addresses => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

describe('host routes', () => {
  let host: Harness
  beforeEach(
    async () =>
      (host = await Harness.start({
        maxEventBuffers: 2,
        maxMessageBytes: 40_000,
        bodyTimeoutMs: 200,
      })),
  )
  afterEach(() => host.stop())

  const nothingArrived = () => {
    expect(host.sink.scenes).to.deep.equal([])
    expect(host.sink.records).to.deep.equal([])
    expect([...host.sink.buffers.keys()]).to.deep.equal([])
    expect(host.sink.memory.stored.size).to.equal(0)
  }

  describe('who may come in', () => {
    for (const path of [
      '/host/v1/scene',
      '/host/v1/audit',
      '/host/v1/events/s',
      '/host/v1/artefacts',
      '/host/v1/nowhere',
    ]) {
      it(`answers 401 to ${path} without a token`, async () => {
        const answer = await host.post(path, '{}', { 'Content-Type': 'application/json' })
        expect(answer.status).to.equal(401)
        expect(answer.headers['www-authenticate']).to.equal('Bearer')
        expect(answer.headers['content-type']).to.equal('application/problem+json')
        expect(answer.body.code).to.equal('auth-required')
        const peer = '127.0.0.1'
        expect(host.refused).to.deep.equal([{ status: 401, reason: 'token_missing', peer }])
        nothingArrived()
      })
    }

    it('answers 401 to a wrong token and does not repeat it', async () => {
      const answer = await host.post('/host/v1/scene', '{}', {
        ...json,
        Authorization: 'Bearer wrong-and-private',
      })
      expect(answer.status).to.equal(401)
      expect(answer.headers['www-authenticate']).to.match(/^Bearer/)
      expect(answer.text).not.to.contain('wrong-and-private')
      expect(host.refused.map(({ reason }) => reason)).to.deep.equal(['token_wrong'])
      nothingArrived()
    })

    it('answers 403 to an Origin header, even with the token', async () => {
      for (const origin of ['http://localhost:8765', 'null', '']) {
        const answer = await host.post('/host/v1/scene', '{}', { ...json, Origin: origin })
        expect(answer.status).to.equal(403)
        expect(answer.body.code).to.equal('request-refused')
      }
      expect(host.refused.map(({ status }) => status)).to.deep.equal([403, 403, 403])
      nothingArrived()
    })

    it('answers 403 to a peer that is not on the loopback, even with the token', async function () {
      if (process.platform === 'win32')
        skipBecause(this, 'owners, modes and links need a POSIX system')
      const folder = await mkdtemp(join(tmpdir(), 'host-peer-'))
      const socketPath = join(folder, 'socket')
      const local = await Harness.start({}, { path: socketPath })
      const req = request({ socketPath, method: 'POST', path: '/host/v1/scene', headers: json })
      req.end('{}')
      const [res] = await once(req, 'response')
      res.resume()
      expect(res.statusCode).to.equal(403)
      const peer = 'unknown'
      expect(local.refused).to.deep.equal([{ status: 403, reason: 'peer_not_loopback', peer }])
      expect(local.sink.scenes).to.deep.equal([])
      await local.stop()
      await rm(folder, { recursive: true })
    })

    // Where a machine has no address but the loopback ones there is nothing to try.
    if (outerAddress !== undefined) {
      it('lets in who reaches another address of this machine from itself', async () => {
        const outer = await Harness.start({}, { host: outerAddress })
        const answer = await outer.post('/host/v1/scene', '{}')
        expect(answer.status, answer.text).to.equal(200)
        await outer.stop()
      })
    }

    it('removes no artefact without the token', async () => {
      const path = `/host/v1/artefacts/${'0'.repeat(64)}`
      for (const headers of [{ Authorization: '' }, { Authorization: 'Bearer another' }]) {
        expect((await host.send('DELETE', path, headers)).status).to.equal(401)
      }
    })

    it('answers 405 with Allow to other methods', async () => {
      for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
        const answer = await host.send(method, '/host/v1/scene', json)
        expect(answer.status).to.equal(405)
        expect(answer.headers.allow).to.equal('POST')
      }
      expect(host.refused).to.deep.equal([])
    })

    it('answers 404 to unknown addresses', async () => {
      for (const path of [
        '/host/',
        '/host/v1',
        '/host/v1/scene/',
        '/host/v2/scene',
        '/host/v1/events/',
        '/host/v1/events/a/b',
        '/host/v1/events/../scene',
        '/host/v1/__proto__',
      ]) {
        expect((await host.post(path, '{}')).status, path).to.equal(404)
      }
    })

    it('answers 415 to JSON routes without application/json', async () => {
      for (const path of ['/host/v1/scene', '/host/v1/audit', '/host/v1/events/s']) {
        for (const type of [
          'text/plain',
          'application/jsonp',
          'application/json; charset=latin1',
        ]) {
          const answer = await host.post(path, '{}', { ...bearer, 'Content-Type': type })
          expect(answer.status).to.equal(415)
        }
        expect((await host.post(path, '{}', bearer)).status).to.equal(415)
      }
      nothingArrived()
    })
  })

  describe('POST /host/v1/scene', () => {
    it('takes an object and null and answers the revision', async () => {
      const first = await host.post('/host/v1/scene', '{"scene_name":"Küche"}')
      expect(first.status).to.equal(200)
      expect(first.headers['content-type']).to.equal('application/json')
      expect(first.text).to.equal('{"ok":true,"revision":1}')
      const second = await host.post('/host/v1/scene', 'null', {
        ...json,
        'Content-Type': 'Application/JSON; charset=UTF-8',
      })
      expect(second.body).to.deep.equal({ ok: true, revision: 2 })
      expect(host.sink.scenes).to.deep.equal([{ scene_name: 'Küche' }, null])
    })

    it('answers 409 while a connected application holds the scene, and takes it before and after', async () => {
      const { scene } = host.sink
      const tell = (connected: boolean) =>
        scene.tell({ instanceId: 'run-1', dccType: 'blender', connected })
      const post = (text: string) => host.post('/host/v1/scene', text)
      tell(true)
      expect((await post('{"before":true}')).status).to.equal(200)
      host.sink.setSceneText('{"live":true}', 'run-1')
      for (const body of ['{"post":true}', 'null']) {
        const refused = await post(body)
        expect(refused.status).to.equal(409)
        expect(refused.body.code).to.equal('scene-live')
        expect(scene.current.text).to.equal('{"live":true}')
      }
      tell(false)
      expect((await post('{"after":true}')).status).to.equal(200)
      tell(true)
      expect((await post('{"not":"sent yet"}')).status).to.equal(200)
    })

    it('lets a byte order mark pass', async () => {
      expect((await host.post('/host/v1/scene', '\ufeff{}')).status).to.equal(200)
    })

    const refusals: [string, string | Buffer][] = [
      ['nothing', ''],
      ['a broken object', '{"a":'],
      ['NaN', '{"fps":NaN}'],
      ['Infinity', '{"fps":-Infinity}'],
      ['a number too large', '{"fps":1e999}'],
      ['an array', '[1,2]'],
      ['a text', '"scene"'],
      ['a number', '3'],
      ['true', 'true'],
      ['5,000 levels of arrays', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`],
      ['5,000 levels of objects', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`],
      ['65 levels', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
      ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
      ['a surrogate in UTF-8', Buffer.from('7b22eda080223a317d', 'hex')],
    ]
    for (const [what, body] of refusals) {
      it(`answers 400 to ${what} and the old scene stays`, async () => {
        const answer = await host.post('/host/v1/scene', body)
        expect(answer.status).to.equal(400)
        expect(answer.body.code).to.equal('body-invalid')
        nothingArrived()
      })
    }

    it('answers 413 to more than the limit, declared or in chunks', async () => {
      const body = JSON.stringify({ text: 'x'.repeat(40_000) })
      for (const headers of [json, { ...json, 'Transfer-Encoding': 'chunked' }]) {
        const answer = await host.post('/host/v1/scene', body, headers)
        expect(answer.status).to.equal(413)
        expect(answer.body.code).to.equal('body-too-large')
      }
      nothingArrived()
    })

    it('answers 408 to a body that stands still', async () => {
      const connection = await host.raw()
      connection.socket.write(head('/host/v1/scene', { ...json, 'Content-Length': 10 }) + '{"a"')
      await connection.until('body-timeout')
      expect(connection.received).to.match(/^HTTP\/1\.1 408 /)
      connection.socket.destroy()
      nothingArrived()
    })

    it('answers 408 to a body that takes for ever, but an artefact may', async () => {
      const patient = await Harness.start({ maxBodyMs: 20 })
      for (const [path, status] of [
        ['/host/v1/scene', 408],
        ['/host/v1/artefacts', 201],
      ] as const) {
        const connection = await patient.raw()
        connection.socket.write(head(path, { ...json, 'Content-Length': 20 }))
        const drip = setInterval(() => connection.socket.write(' '), 5)
        await connection.until('\r\n\r\n')
        clearInterval(drip)
        expect(connection.received).to.match(new RegExp(`^HTTP/1.1 ${status} `))
        connection.socket.destroy()
      }
      await patient.stop()
    })

    it('takes 64 levels', async () => {
      const body = `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`
      expect((await host.post('/host/v1/scene', body)).status).to.equal(200)
    })

    it('answers 400 with the reason when the registry refuses the scene', async () => {
      const answer = await host.post('/host/v1/scene', '[]')
      expect(answer.status).to.equal(400)
      expect(answer.body.errors).to.deep.equal([
        { pointer: '', detail: 'scene must be a JSON object, or null to clear it' },
      ])
    })

    it('answers 500 without a reason when the server fails, and logs it', async () => {
      const answer = await host.post('/host/v1/scene', '{"explode":1}')
      expect(answer.status).to.equal(500)
      expect(answer.body.code).to.equal('internal')
      expect(answer.text).not.to.match(/shadow|at .*:\d+/)
      expect(host.errors).to.have.length(1)
    })

    it('keeps the connection after a refused body', async () => {
      const answer = await host.post('/host/v1/scene', '[]')
      expect(answer.headers.connection).to.equal('keep-alive')
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

    it('records every member', async () => {
      const body = JSON.stringify({ records: [record, { action: 'save', actor: null }] })
      const answer = await host.post('/host/v1/audit', body)
      expect(answer.text).to.equal('{"ok":true,"count":2}')
      expect(host.sink.records).to.deep.equal([
        {
          action: 'render.start',
          outcome: { denied: { reason: 'busy' } },
          actor: 'anna',
          params: { quality: 3 },
          durationMs: 12.5,
          sessionId: 's-1',
          timestamp: '2026-03-04T04:06:07.000Z',
        },
        { action: 'save' },
      ])
    })

    it('records nothing of a post with one wrong record', async () => {
      const body = JSON.stringify({ records: [record, record, { action: 7 }] })
      const answer = await host.post('/host/v1/audit', body)
      expect(answer.status).to.equal(400)
      expect(answer.body.errors).to.deep.equal([
        { pointer: '/records/2/action', detail: 'must be a string' },
      ])
      nothingArrived()
    })

    it('takes 100 records in a post, not 101', async () => {
      const post = (count: number) =>
        host.post('/host/v1/audit', JSON.stringify({ records: Array(count).fill({ action: 'a' }) }))
      const tooMany = await post(101)
      expect(tooMany.status).to.equal(400)
      expect(tooMany.body.errors?.[0]?.pointer).to.equal('/records')
      nothingArrived()
      expect((await post(100)).body).to.deep.equal({ ok: true, count: 100 })
    })
  })

  describe('POST /host/v1/events/<session_id>', () => {
    const event = { source: 'blender', stream: 'stdout', level: 'warn', message: 'low memory' }
    const post = (session: string, events: unknown) =>
      host.post(`/host/v1/events/${session}`, JSON.stringify({ events }))

    it('creates the buffer and appends every member', async () => {
      const full = {
        ...event,
        tool_call_id: 't',
        job_id: 'j',
        correlation_id: 'c',
        session_id: 'job:1',
        metadata: { frame: 4 },
      }
      const answer = await post('job%3A1', [full, { source: 'a', stream: 'b', message: '' }])
      expect(answer.status).to.equal(200)
      expect(answer.text).to.equal('{"ok":true,"next_cursor":2,"dropped":0}')
      const [first, second] = host.sink.buffers.get('job:1')?.page().events ?? []
      expect(first).to.deep.include({
        source: 'blender',
        stream: 'stdout',
        level: 'warning',
        message: 'low memory',
        session_id: 'job:1',
        tool_call_id: 't',
        job_id: 'j',
        correlation_id: 'c',
        metadata: { frame: 4 },
      })
      const empty = { tool_call_id: null, job_id: null, correlation_id: null }
      expect(second).to.include({ source: 'a', stream: 'b', level: 'info', message: '', ...empty })
    })

    it('appends to the buffer of before and counts what retention dropped', async () => {
      await post('s', [event, event])
      const answer = await post('s', [event, event, event])
      expect(answer.body).to.deep.equal({ ok: true, next_cursor: 5, dropped: 2 })
    })

    it('answers next_cursor 0 to a post without events', async () => {
      expect((await post('s', [])).body).to.deep.equal({ ok: true, next_cursor: 0, dropped: 0 })
    })

    it('answers 429 beyond the allowed number of buffers, the known ones go on', async () => {
      await post('one', [event])
      await post('two', [event])
      const third = await post('three', [event])
      expect(third.status).to.equal(429)
      expect(third.body.code).to.equal('limit-reached')
      expect([...host.sink.buffers.keys()]).to.deep.equal(['one', 'two'])
      expect((await post('two', [event])).status).to.equal(200)
    })

    it('appends nothing and creates nothing for one wrong event', async () => {
      const answer = await post('s', [event, { ...event, level: 'loud' }])
      expect(answer.status).to.equal(400)
      expect(answer.body.errors?.[0]?.pointer).to.equal('/events/1/level')
      nothingArrived()
    })

    for (const id of ['..', '%2e%2e', '..%2f..%2fetc', 'a%00b', '%ff', '%zz', 'a%20b', 'a%252fb']) {
      it(`refuses the session id ${id}`, async () => {
        expect((await post(id, [event])).status).to.equal(400)
        nothingArrived()
      })
    }
  })
})
