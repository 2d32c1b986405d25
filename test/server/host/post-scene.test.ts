import { expect } from 'chai'
import { Harness, head, json, smallBounds } from './harness.ts'

describe('POST /host/v1/scene', () => {
  let host: Harness
  beforeEach(async () => (host = await Harness.start(smallBounds)))
  afterEach(() => host.stop())

  it('accepts an object and null and returns the revision', async () => {
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

  it('returns 409 while a connected application holds the scene', async () => {
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

  it('accepts a byte order mark', async () => {
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
    it(`returns 400 to ${what} and keeps the old scene`, async () => {
      const answer = await host.post('/host/v1/scene', body)
      expect(answer.status).to.equal(400)
      expect(answer.body.code).to.equal('body-invalid')
      host.expectNothingArrived()
    })
  }

  const faults: [body: string, reason: string][] = [
    ['{"objects":[\n  {"id":"A"},\n]}', 'it has a trailing comma (line 2, column 13)'],
    ['{"a":[1,2 ,], "b":"x"}', 'it has a trailing comma (line 1, column 11)'],
    ['{"a":1,\n}', 'it has a trailing comma (line 1, column 7)'],
    ['{"t":[0,1,NaN],"text":"[,"}', 'it has NaN, which JSON does not allow (line 1, column 11)'],
    [
      '{"text":"a: [, \\"[,","fps":Infinity}',
      'it has Infinity, which JSON does not allow (line 1, column 28)',
    ],
    ['{"a":[ ],"visible":True}', 'it has True, which JSON does not allow (line 1, column 20)'],
    ['// a comment\n{}', 'it has a comment, which JSON does not allow (line 1, column 1)'],
    ['{"a":1\n"b":2}', 'it has no comma after a value (line 2, column 1)'],
    ["{'a':1}", 'it has no name before a colon (line 1, column 2)'],
    ['{"a":"x', 'it has an unterminated string (line 1, column 6)'],
    ['{"a":', 'it ends too early (line 1, column 6)'],
    ['{"a":1}}', 'it has text after its end (line 1, column 8)'],
  ]
  for (const [body, reason] of faults) {
    it(`says why and where ${JSON.stringify(body)} is no JSON`, async () => {
      const said = `is not valid JSON: ${reason}`
      const answer = await host.post('/host/v1/scene', body)
      expect(answer.body).to.include({ detail: `scene ${said}` })
      const patched = await host.send('PATCH', '/host/v1/scene', json, body)
      expect(patched.body).to.include({ detail: `the body ${said}` })
    })
  }

  it('returns 413 to more than the limit, declared or in chunks', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(40_000) })
    for (const headers of [json, { ...json, 'Transfer-Encoding': 'chunked' }]) {
      const answer = await host.post('/host/v1/scene', body, headers)
      expect(answer.status).to.equal(413)
      expect(answer.body.code).to.equal('body-too-large')
    }
    host.expectNothingArrived()
  })

  it('returns 408 to a body that stalls', async () => {
    const connection = await host.raw()
    connection.socket.write(head('/host/v1/scene', { ...json, 'Content-Length': 10 }) + '{"a"')
    await connection.until('body-timeout')
    expect(connection.received).to.match(/^HTTP\/1\.1 408 /)
    connection.socket.destroy()
    host.expectNothingArrived()
  })

  it('returns 408 to a slow scene, and accepts a slow artefact', async () => {
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

  it('accepts 64 levels', async () => {
    const body = `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`
    expect((await host.post('/host/v1/scene', body)).status).to.equal(200)
  })

  it('returns 400 with the reason when the scene is refused', async () => {
    const answer = await host.post('/host/v1/scene', '[]')
    expect(answer.status).to.equal(400)
    expect(answer.body.errors).to.deep.equal([
      { pointer: '', detail: 'scene must be a JSON object, or null to clear it' },
    ])
  })

  it('returns 500 without a reason when the server fails, and logs it', async () => {
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
