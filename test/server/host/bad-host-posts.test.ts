import { expect } from 'chai'
import { type Answer, ask, RawSession } from '../../helpers/mcp.ts'
import { exchange, requestText } from '../../process/raw-socket.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const key = 'a-key-of-the-clients'
const maxMessageBytes = 100_000

describe('bad posts to the host link of the real program', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    const flags = [`--limit=maxMessageBytes=${maxMessageBytes}`]
    serve = await serveInProcess({ env: { SERVICE_MCP_API_KEY: key }, flags })
    session = await RawSession.open(serve.url, '2025-11-25', { Authorization: `Bearer ${key}` })
    expect((await serve.post('scene', { kept: true })).status).to.equal(200)
  })

  after(() => serve.stop())

  afterEach('still has the old scene', async () => {
    expect(await session.readJson('scene://current')).to.deep.equal({ kept: true })
  })

  function expectProblem(answer: Answer, status: number): void {
    expect(answer.status, answer.text).to.equal(status)
    expect(answer.headers['content-type']).to.equal('application/problem+json')
    expect(answer.json).to.include({ status })
    expect(answer.text).not.to.contain(serve.token).and.not.to.contain(key)
    expect(answer.text).not.to.match(/node_modules|\bat [A-Z]|\/dist\//)
  }

  it('are refused with another secret than the host token', async () => {
    const wrong: (string | undefined)[] = [
      undefined,
      '',
      `Bearer ${key}`,
      'Bearer ',
      'Bearer x',
      `Basic ${serve.token}`,
      serve.token,
      `Bearer ${serve.token}x`,
      `Bearer ${serve.token.slice(1)}`,
      `Bearer ${serve.token.toLowerCase()}`,
      `Bearer ${serve.token} x`,
      `Bearer "${serve.token}"`,
    ]
    for (const route of ['scene', 'audit', 'events/s', 'artefacts', 'nothing']) {
      for (const authorization of wrong) {
        const answer = await ask(`${serve.hostUrl}/v1/${route}`, {
          method: 'POST',
          headers: {
            'Content-Type': 'application/json',
            ...(authorization === undefined ? {} : { Authorization: authorization }),
          },
          body: '{"stolen":true}',
        })
        expectProblem(answer, 401)
        expect(answer.headers['www-authenticate']).to.match(/^Bearer/)
      }
    }
  })

  it('are refused with the token in the address or in a cookie', async () => {
    for (const query of [`?token=${serve.token}`, `?access_token=${serve.token}`]) {
      const url = `${serve.hostUrl}/v1/scene${query}`
      const headers = { 'Content-Type': 'application/json', Cookie: `token=${serve.token}` }
      expectProblem(await ask(url, { method: 'POST', headers, body: '{}' }), 401)
    }
  })

  it('do not let the host token in as the key of a client', async () => {
    const headers = { ...session.headers, Authorization: `Bearer ${serve.token}` }
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const answer = await ask(serve.url, { method: 'POST', headers, body })
    expect(answer.status).to.equal(401)
    const url = `${serve.base}/artefacts/sha256/${'a'.repeat(64)}`
    expect((await ask(url, { headers })).status).to.equal(401)
  })

  /** Title, route, body, status. */
  const posts: [string, string, string | Buffer, number][] = [
    ['a scene that is an array', 'scene', '[]', 400],
    ['a scene that is a text', 'scene', '"scene"', 400],
    ['a scene that is a number', 'scene', '1', 400],
    ['a scene with NaN', 'scene', '{"x":NaN}', 400],
    ['a scene with Infinity', 'scene', '{"x":-Infinity}', 400],
    ['a scene with a number too large for JSON', 'scene', '{"x":1e999}', 400],
    ['a scene cut short', 'scene', '{"x":', 400],
    ['a scene that is empty', 'scene', '', 400],
    ['a scene in UTF-16', 'scene', Buffer.from('{"x":1}', 'utf16le'), 400],
    ['a scene that is no UTF-8', 'scene', Buffer.from([0x7b, 0xff, 0x7d]), 400],
    ['a scene of 65 levels', 'scene', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 400],
    ['a scene of 5,000 levels', 'scene', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, 400],
    ['a scene over the limit', 'scene', `{"x":"${'x'.repeat(maxMessageBytes)}"}`, 413],
    ['records that are no array', 'audit', '{"records":{}}', 400],
    ['no records', 'audit', '{}', 400],
    ['a record without action', 'audit', '{"records":[{}]}', 400],
    ['a record with an unknown member', 'audit', '{"records":[{"action":"a","x":1}]}', 400],
    [
      'a record with an unknown outcome',
      'audit',
      '{"records":[{"action":"a","outcome":"x"}]}',
      400,
    ],
    [
      'a record with a wrong time',
      'audit',
      '{"records":[{"action":"a","timestamp":"today"}]}',
      400,
    ],
    ['101 records', 'audit', JSON.stringify({ records: Array(101).fill({ action: 'a' }) }), 400],
    [
      'one wrong record among right ones',
      'audit',
      '{"records":[{"action":"a"},{"action":1}]}',
      400,
    ],
    ['events that are no array', 'events/s', '{"events":1}', 400],
    ['an event without message', 'events/s', '{"events":[{"source":"a","stream":"b"}]}', 400],
    ['an unknown level', 'events/s', event({ level: 'loud' }), 400],
    ['an event of another session', 'events/s', event({ session_id: 't' }), 400],
    ['a session id that climbs escaped', 'events/%2e%2e%2fx', event({}), 400],
    ['a session id with a NUL', 'events/a%00', event({}), 400],
    ['a session id with a broken escape', 'events/%zz', event({}), 400],
    ['a session id of 129 characters', `events/${'s'.repeat(129)}`, event({}), 400],
    ['an unknown parameter of an artefact', 'artefacts?x=1', 'bytes', 415],
    ['an unknown route', 'exec', '{}', 404],
    ['a route that climbs', 'scene/../../mcp', '{}', 404],
  ]

  for (const [title, path, body, status] of posts) {
    it(`answers ${status} to ${title}`, async () => {
      const type = title.includes('artefact') ? 'multipart/form-data' : 'application/json'
      expectProblem(await serve.post(path, body, { 'Content-Type': type }), status)
    })
  }

  it('answers 400 to a session id that is only dots', async () => {
    const body = event({})
    const lines = [
      'POST /host/v1/events/%2e%2e HTTP/1.1',
      'Host: localhost',
      `Authorization: Bearer ${serve.token}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    // As text: a client that parses the address would take the dots for a way up.
    const answer = await exchange(serve.port, requestText(lines, body))
    expect(answer?.status).to.equal(400)
    expect(answer?.body).to.contain('the request target must be')
  })

  it('answers 415 to another type than JSON, 405 to another method than POST and PATCH', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/json', '']) {
      expectProblem(await serve.post('scene', '{}', { 'Content-Type': type }), 415)
    }
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const headers = { Authorization: `Bearer ${serve.token}` }
      const answer = await ask(`${serve.hostUrl}/v1/scene`, { method, headers })
      expectProblem(answer, 405)
      expect(answer.headers.allow).to.equal('POST, PATCH')
    }
  })

  it('answers 400 to a sidecar that is wrong', async () => {
    for (const query of [
      'display_name=',
      `display_name=${'x'.repeat(2000)}`,
      'display_name=a&display_name=b',
      'expires_at=tomorrow',
      'expires_at=2001-01-01T00:00:00Z',
      'metadata=%7B',
      `metadata=${encodeURIComponent('['.repeat(65) + ']'.repeat(65))}`,
      'display_name=%ff',
      'sha256=x',
    ]) {
      const answer = await serve.post(`artefacts?${query}`, 'x', { 'Content-Type': 'text/plain' })
      expectProblem(answer, 400)
    }
  })

  it('creates no buffer for a refused post, and at most 100 in all', async () => {
    expectProblem(await serve.post('events/refused', '{"events":1}'), 400)
    const { error } = await session.call('resources/read', { uri: 'events://session/refused' })
    expect(error.code).to.equal(-32002)
    for (let number = 0; number < 100; number++) {
      expect((await serve.post(`events/n${number}`, event({}))).status).to.equal(200)
    }
    expectProblem(await serve.post('events/n100', event({})), 429)
    expect((await serve.post('events/n99', event({}))).status).to.equal(200)
  })
})

function event(members: object): string {
  return JSON.stringify({ events: [{ source: 'a', stream: 'b', message: 'm', ...members }] })
}
