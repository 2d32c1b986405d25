import { expect } from 'chai'
import { newKey } from '../../../src/lib/auth/keys-file.ts'
import {
  bearer,
  type KeyedServer,
  makeKeys,
  startKeyedServer,
  type TestKeys,
} from '../../helpers/keyed-server.ts'
import { initializeBody, RawSession, rpc } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'
import { bytesOf, type Door, doorsOf } from './doors.ts'
import { exchange, type RawAnswer, RawSocket } from '../../process/raw-socket.ts'

const origin = 'https://studio.example'

describe('without its key, a server', () => {
  let keys: TestKeys
  let key: string
  let running: KeyedServer
  let port: number
  let session: RawSession
  let hex: string
  let doors: readonly Door[]
  let etag: string

  before(async () => {
    keys = await makeKeys()
    key = await keys.create('anna')
    const limits = { maxAuthFailures: 10_000 }
    running = await startKeyedServer(keys, { limits, config: { allowedOrigins: [origin] } })
    port = Number(new URL(running.url).port)
    session = await RawSession.open(running.url, '2025-11-25', bearer(key))
    hex = await running.store('secret')
    doors = doorsOf({ sessionId: session.id, hex })
    const download = bytesOf(doorOf('a download'), { extra: [`Authorization: Bearer ${key}`] })
    etag = (await exchange(port, download))?.headers.etag ?? ''
    expect(etag).to.contain(hex)
  })
  after(async () => {
    await running.stop()
    await keys.remove()
  })

  function doorOf(title: string): Door {
    const door = doors.find(each => each.title === title)
    if (door === undefined) throw new Error(title)
    return door
  }

  const stateless = (method: string, params: Record<string, unknown> = {}) => ({
    headers: statelessHeaders(method, params),
    body: JSON.stringify(statelessRequest(method, params)),
  })

  /** Requests to `/mcp` and `/artefacts` that differ in all that a server looks at. */
  function questions(): Record<string, Door> {
    const read = doorOf('a read in a session')
    const download = doorOf('a download')
    const withHeaders = (headers: Record<string, string>, door = read) => ({
      ...door,
      headers: { ...door.headers, ...headers },
    })
    const { 'Mcp-Session-Id': _, ...sessionless } = read.headers
    const asked = { ...read, headers: sessionless }
    const artefact = (name: string) => ({ ...download, start: `GET /artefacts/sha256/${name}` })
    return {
      ...Object.fromEntries(doors.map(door => [door.title, door])),
      'a session that never was': withHeaders({ 'Mcp-Session-Id': 'A'.repeat(32) }),
      'a session id that none is': withHeaders({ 'Mcp-Session-Id': '\x80' }),
      'no session': asked,
      'a stream of no session': withHeaders(
        { 'Mcp-Session-Id': 'A'.repeat(32) },
        doorOf('the stream of a session'),
      ),
      'the end of no session': withHeaders(
        { 'Mcp-Session-Id': 'A'.repeat(32) },
        doorOf('the end of a session'),
      ),
      'a first message': { ...asked, body: initializeBody() },
      'a first message of 2024': { ...asked, body: initializeBody('2024-11-05') },
      'no JSON': { ...asked, body: '{' },
      'an empty batch': { ...asked, body: '[]' },
      'no body': { ...asked, body: '' },
      'a list of tools': { ...read, body: rpc('tools/list') },
      'a list of prompts': { ...read, body: rpc('prompts/list') },
      'a list of resources': { ...read, body: rpc('resources/list') },
      'a list of templates': { ...read, body: rpc('resources/templates/list') },
      'a method nobody knows': { ...read, body: rpc('no/method') },
      'a discovery': { ...read, ...stateless('server/discover') },
      'tools without session': { ...read, ...stateless('tools/list') },
      'resources without session': { ...read, ...stateless('resources/list') },
      'a resource that is not there': {
        ...read,
        ...stateless('resources/read', { uri: 'scene://none' }),
      },
      'a revision nobody knows': withHeaders({ 'MCP-Protocol-Version': '1999-01-01' }),
      'headers that deny the body': withHeaders({
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': 'ping',
      }),
      'another type of body': withHeaders({ 'Content-Type': 'text/plain' }),
      'a packed body': withHeaders({ 'Content-Encoding': 'gzip' }),
      'an answer in HTML': withHeaders({ Accept: 'text/html' }),
      PUT: { ...read, start: 'PUT /mcp' },
      PATCH: { ...read, start: 'PATCH /mcp' },
      OPTIONS: { ...read, start: 'OPTIONS /mcp' },
      'a query': { ...read, start: `POST /mcp?key=${key}` },
      'an artefact that is not there': artefact('b'.repeat(64)),
      'an artefact that none is': artefact('x'),
      'no artefact': artefact(''),
      'the sidecar of an artefact': artefact(`${hex}.json`),
      'an artefact by its tag': withHeaders({ 'If-None-Match': etag }, download),
      'an artefact of another tag': withHeaders({ 'If-Match': '"x"' }, download),
      'a range past the end': withHeaders({ Range: 'bytes=900-' }, download),
      'an upload': { ...read, start: `POST /artefacts/sha256/${hex}` },
      'a removal': { ...download, start: `DELETE /artefacts/sha256/${hex}` },
    }
  }

  const refusals: [string, () => string[]][] = [
    ['no key', () => []],
    ['another key', () => [`Authorization: Bearer ${newKey()}`]],
    ['what is no key', () => ['Authorization: Bearer another']],
    ['another scheme', () => [`Authorization: Basic ${key}`]],
  ]
  for (const [title, extra] of refusals) {
    it(`says one and the same to ${title}, whatever is asked`, async () => {
      const told = new Map<string, string[]>()
      for (const [asked, door] of Object.entries(questions())) {
        const answer = await exchange(port, bytesOf(door, { extra: extra() }))
        expect(answer?.status, asked).to.equal(401)
        const said = JSON.stringify(plain(answer as RawAnswer))
        told.set(said, [...(told.get(said) ?? []), asked])
      }
      expect([...told.values()].slice(1), [...told.keys()].join('\n')).to.deep.equal([])
      expect([...told.keys()][0])
        .not.to.contain(key)
        .and.not.to.match(/session|artefact|tool/)
    })
  }

  it('waits for no body, however it is announced', async () => {
    const read = doorOf('a read in a session')
    for (const length of [
      ['Content-Length: 100'],
      ['Content-Length: 100', 'Expect: 100-continue'],
      ['Content-Length: 9007199254740991'],
      ['Transfer-Encoding: chunked'],
    ]) {
      const raw = await RawSocket.open(port)
      raw.write(bytesOf({ ...read, body: '' }, { length }))
      const answers = await raw.answers(1)
      expect(
        answers.map(({ status }) => status),
        length.join(),
      ).to.deep.equal([401])
      raw.close()
    }
  })

  it('has read nothing of what it was sent: all is as it was', async () => {
    const stream = await session.listen()
    for (const door of Object.values(questions())) await exchange(port, bytesOf(door))
    expect(stream.ended).to.equal(false)
    stream.close()
    expect(await session.call('ping')).to.deep.include({ result: {} })
  })

  it('answers health and the documents that clients look for, and tells nothing there', async () => {
    for (const path of [
      '/healthz',
      '/readyz',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
      '/.well-known/oauth-client-metadata',
      '/register',
      '/artefacts',
      '/nothing',
    ]) {
      const answer = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      expect(answer?.status, path).to.equal(path.endsWith('z') ? 200 : 404)
      expect(answer?.headers['content-type'], path).to.match(/^application\/(problem\+)?json/)
      expect(JSON.parse(answer?.body ?? '')).to.be.an('object')
      expect(answer?.body).not.to.contain(hex).and.not.to.contain(session.id)
    }
  })

  it('lets a page that is allowed read the refusal, and asks its preflight for no key', async () => {
    for (const door of doors) {
      const [method = ''] = door.start.split(' ')
      const preflight = await exchange(
        port,
        bytesOf(
          { ...door, start: door.start.replace(method, 'OPTIONS'), headers: {}, body: '' },
          {
            extra: [
              `Origin: ${origin}`,
              `Access-Control-Request-Method: ${method}`,
              'Access-Control-Request-Headers: authorization',
            ],
          },
        ),
      )
      expect(preflight?.status, door.title).to.equal(204)
      expect(preflight?.headers['access-control-allow-headers']?.toLowerCase()).to.contain(
        'authorization',
      )
      const answer = await exchange(port, bytesOf(door, { extra: [`Origin: ${origin}`] }))
      expect(answer?.status, door.title).to.equal(401)
      expect(answer?.headers['access-control-allow-origin']).to.equal(origin)
    }
  })
})

/** The answer without what is of the moment, and of the connection. */
function plain({ status, headers, body }: RawAnswer): object {
  const { date, connection, 'keep-alive': keepAlive, ...told } = headers
  return { status, told: Object.entries(told).sort(), body }
}
