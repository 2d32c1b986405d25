import { expect } from 'chai'
import {
  bearer,
  type KeyedServer,
  makeKeys,
  newKey,
  startKeyedServer,
  type TestKeys,
} from '../../helpers/keyed-server.ts'
import { initializeBody, RawSession, rpc } from '../../helpers/mcp.ts'
import { statelessPost } from '../../helpers/stateless.ts'
import { exchange, type RawAnswer, RawSocket, requestText } from '../../process/raw-socket.ts'

const secret = 'nobody else sees this'
const accept = { Accept: 'application/json, text/event-stream' }
const json = { ...accept, 'Content-Type': 'application/json' }

/** A request as it goes out, line by line. */
interface ProtectedRequest {
  readonly title: string
  /** As in `POST /mcp`. */
  readonly start: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** `extra`: lines behind the other headers. */
function bytesOf({ start, headers, body }: ProtectedRequest, extra: readonly string[]): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return requestText([`${start} HTTP/1.1`, 'Host: localhost', ...lines, ...extra, ...length], body)
}

function stateless(
  title: string,
  method: string,
  params: Record<string, unknown> = {},
): ProtectedRequest {
  const { headers, body } = statelessPost(method, params)
  return { title, start: 'POST /mcp', headers, body }
}

describe('a server with a key', () => {
  let keys: TestKeys
  let key: string
  let running: KeyedServer
  let port: number
  let session: RawSession
  let hex: string
  let read: ProtectedRequest
  let download: ProtectedRequest
  /** One request for each way to what the server keeps, on both transports. */
  let doors: readonly ProtectedRequest[]
  let authorised: string

  before(async () => {
    keys = await makeKeys()
    key = await keys.create('anna')
    authorised = `Authorization: Bearer ${key}`
    running = await startKeyedServer(keys)
    running.setScene({ secret })
    port = Number(new URL(running.url).port)
    session = await RawSession.open(running.url, '2025-11-25', bearer(key))
    hex = await running.store(secret)
    const inSession = { 'Mcp-Session-Id': session.id, 'MCP-Protocol-Version': '2025-11-25' }
    const uri = 'scene://current'
    const listening = { notifications: { resourceSubscriptions: [uri] } }
    const body = rpc('resources/read', { uri })
    const headers = { ...json, ...inSession }
    const streamed = { ...inSession, Accept: 'text/event-stream' }
    const artefact = `GET /artefacts/sha256/${hex}`
    read = { title: 'a read in a session', start: 'POST /mcp', headers, body }
    download = { title: 'a download', start: artefact, headers: accept, body: '' }
    doors = [
      read,
      { title: 'the stream of a session', start: 'GET /mcp', headers: streamed, body: '' },
      { title: 'the end of a session', start: 'DELETE /mcp', headers, body: '' },
      stateless('a read without session', 'resources/read', { uri }),
      stateless('a listen stream', 'subscriptions/listen', listening),
      download,
    ]
  })

  /** Requests that differ in all that a server looks at. */
  function questions(): ProtectedRequest[] {
    const { 'Mcp-Session-Id': _, ...sessionless } = read.headers
    const withHeaders = (title: string, headers: Record<string, string>, door = read) => ({
      ...door,
      title,
      headers: { ...door.headers, ...headers },
    })
    const started = (title: string, start: string, door = read) => ({ ...door, title, start })
    return [
      ...doors,
      withHeaders('a session that never was', { 'Mcp-Session-Id': 'A'.repeat(32) }),
      { ...read, title: 'a first message', headers: sessionless, body: initializeBody() },
      { ...read, title: 'no JSON', body: '{' },
      { ...read, title: 'a method that nobody knows', body: rpc('no/method') },
      withHeaders('another type of body', { 'Content-Type': 'text/plain' }),
      started('another method', 'PUT /mcp'),
      started('a query', `POST /mcp?key=${key}`),
      started('an artefact that is not there', `GET /artefacts/sha256/${'b'.repeat(64)}`, download),
      withHeaders('a range past the end', { Range: 'bytes=900-' }, download),
    ]
  }

  const refusals: [string, () => string[]][] = [
    ['no key', () => []],
    ['another key', () => [`Authorization: Bearer ${newKey()}`]],
    ['another scheme', () => [`Authorization: Basic ${key}`]],
  ]
  for (const [title, extra] of refusals) {
    it(`answers one and the same to ${title}, whatever is asked, and nothing is done`, async () => {
      const told = new Map<string, string>()
      const stream = await session.listen()
      for (const door of questions()) {
        const answer = await exchange(port, bytesOf(door, extra()))
        expect(answer?.status, door.title).to.equal(401)
        told.set(JSON.stringify(plain(answer)), door.title)
      }
      const [said, ...others] = told.keys()
      expect(others).to.deep.equal([])
      expect(said).not.to.contain(key)
      expect(said).not.to.match(/session|artefact|tool/)
      expect(stream.ended).to.equal(false)
      stream.close()
      expect(await session.call('ping')).to.deep.include({ result: {} })
    })
  }

  it('asks for the key with every request, also on a connection that showed it', async () => {
    for (const door of [read, download]) {
      for (const extra of [[], ['Authorization: Bearer another']]) {
        const raw = await RawSocket.open(port)
        raw.write(bytesOf(door, [authorised]) + bytesOf(door, extra))
        const answers = await raw.answers(2)
        const told = answers.map(({ status, body }) => [status, body.includes(secret)])
        expect(told, door.title).to.deep.equal([
          [200, true],
          [401, false],
        ])
        raw.close()
      }
    }
  })
})

/** The answer without what is of the moment, and of the connection. */
function plain(answer: RawAnswer | undefined): object {
  const { date: _, connection: __, 'keep-alive': ___, ...told } = answer?.headers ?? {}
  return { status: answer?.status, told: Object.entries(told).sort(), body: answer?.body }
}
