import { expect } from 'chai'
import {
  bearer as bearerOf,
  type KeyedServer,
  makeKeys,
  startKeyedServer,
  type TestKeys,
} from '../../helpers/keyed-server.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { bytesOf, type Door, doorsOf } from './doors.ts'
import { exchange, parseAnswers, RawSocket } from '../../process/raw-socket.ts'

const secret = 'nobody else sees this'

describe('a server with a key', () => {
  let keys: TestKeys
  let key: string
  let bearer: string
  let running: KeyedServer
  let port: number
  let session: RawSession
  let doors: readonly Door[]

  before(async () => {
    keys = await makeKeys()
    key = await keys.create('anna')
    bearer = `Authorization: Bearer ${key}`
    running = await startKeyedServer(keys, { limits: { maxAuthFailures: 10_000 } })
    running.setScene({ secret })
    port = Number(new URL(running.url).port)
    session = await RawSession.open(running.url, '2025-11-25', bearerOf(key))
    const hex = await running.store(secret)
    doors = doorsOf({ sessionId: session.id, hex })
  })
  after(async () => {
    await running.stop()
    await keys.remove()
  })

  type Make = (door: Door) => string
  const withKey =
    (...extra: string[]): Make =>
    door =>
      bytesOf(door, { extra: [bearer, ...extra] })
  const bodied = ({ body }: Door) => `Content-Length: ${body.length}`

  /** What proxies and servers have read in two ways: title, bytes, status. */
  const ambiguous: [string, Make, number][] = [
    ['both lengths', withKey('Transfer-Encoding: chunked', 'Content-Length: 5'), 400],
    ['both lengths, swapped', withKey('Content-Length: 5', 'Transfer-Encoding: chunked'), 400],
    ['two lengths', withKey('Content-Length: 1', 'Content-Length: 2'), 400],
    [
      'the same length twice',
      door => bytesOf(door, { extra: [bearer], length: [bodied(door), bodied(door)] }),
      400,
    ],
    ['the encoding xchunked', withKey('Transfer-Encoding: xchunked'), 400],
    ['an encoding within chunked', withKey('Transfer-Encoding: gzip, chunked'), 400],
    ['the encoding chunked twice', withKey('Transfer-Encoding: chunked, chunked'), 400],
    ['a bare LF between headers', withKey('X-A: 1\nX-B: 2'), 400],
    ['a bare LF before the key', door => bytesOf(door, { extra: [`X-A: 1\n${bearer}`] }), 400],
    ['a folded header', withKey('X-A: 1\r\n 2'), 400],
    ['a folded key', door => bytesOf(door, { extra: [`Authorization: Bearer\r\n ${key}`] }), 400],
    ['a space before a colon', withKey('X-A : 1'), 400],
    [
      'a space before the colon of the key',
      door => bytesOf(door, { extra: [`Authorization : Bearer ${key}`] }),
      400,
    ],
    ['a NUL in a header', withKey('X-A: 1\0'), 400],
    ['a NUL behind the key', door => bytesOf(door, { extra: [`${bearer}\0`] }), 400],
    ['no Host', door => bytesOf(door, { host: '', extra: [bearer] }), 400],
    ['two Hosts', withKey('Host: localhost'), 400],
    ['two Hosts, one of them foreign', withKey('host: evil.example'), 400],
    ['the key twice', door => bytesOf(door, { extra: [bearer, bearer] }), 400],
    ['the key, then another', withKey('authorization: Bearer another'), 400],
    [
      'another, then the key',
      door => bytesOf(door, { extra: ['AUTHORIZATION: Bearer another', bearer] }),
      400,
    ],
    [
      'the whole address of another host',
      door => withKey()({ ...door, start: door.start.replace('/', 'http://evil.example/') }),
      403,
    ],
    [
      'the whole address of its own, for another Host',
      door =>
        bytesOf(
          { ...door, start: door.start.replace('/', 'http://127.0.0.1/') },
          { host: 'Host: evil.example', extra: [bearer] },
        ),
      403,
    ],
    [
      'a name that was pointed here',
      door => bytesOf(door, { host: 'Host: evil.example', extra: [bearer] }),
      403,
    ],
    ['a page of another site', withKey('Origin: https://evil.example'), 403],
    ['a page without an origin of its own', withKey('Origin: null'), 403],
  ]

  for (const [title, make, status] of ambiguous) {
    it(`answers ${status} to ${title}, whatever is asked for and with its key`, async () => {
      for (const door of doors) {
        const raw = await RawSocket.open(port)
        try {
          // What came with it, and what seems to follow it, is read by nobody.
          raw.write(make(door))
          const [answer] = await raw.answers(1)
          expect(answer?.status, door.title).to.equal(status)
          expect(raw.received, door.title).not.to.contain(secret)
          expect(answer?.headers).not.to.have.property('mcp-session-id')
          expect(answer?.headers).not.to.have.property('access-control-allow-origin')
        } finally {
          raw.close()
        }
      }
    })
  }

  it('answers the same without the key: nobody learns what it is from a bad request', async () => {
    for (const [title, make, status] of ambiguous) {
      for (const door of doors) {
        const good = make(door)
        const bad = good.replaceAll(key, 'another-key-altogether')
        expect(bad, title).not.to.equal(good)
        const [told, toldToo] = [await exchange(port, good), await exchange(port, bad)]
        expect(told?.status, title).to.equal(status)
        expect(shape(toldToo), title).to.deep.equal(shape(told))
      }
    }
  })

  it('took none of it for the end of the session, or a second stream of it', async () => {
    const stream = await session.listen()
    await session.call('resources/subscribe', { uri: 'scene://current' })
    for (const [, make] of ambiguous) for (const door of doors) await exchange(port, make(door))
    running.setScene({ secret, told: true })
    await stream.until(() => stream.updates.length > 0, 'the update')
    expect(stream.ended).to.equal(false)
    stream.close()
    expect((await session.readJson('scene://current')).told).to.equal(true)
  })

  it('asks for the key with every request, also on a connection that showed it', async () => {
    for (const door of doors.filter(({ title }) => /^a (read|download)/.test(title))) {
      for (const extra of [[], ['Authorization: Bearer another']]) {
        const raw = await RawSocket.open(port)
        raw.write(bytesOf(door, { extra: [bearer] }) + bytesOf(door, { extra }))
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

  it('does not act on what follows a message of unclear length, whose key is right', async () => {
    for (const door of doors) {
      const hidden = bytesOf(door, { extra: [bearer] })
      for (const length of [
        [`Content-Length: ${hidden.length + 5}`, 'Transfer-Encoding: chunked'],
        ['Content-Length: 0', `Content-Length: ${hidden.length}`],
        ['Transfer-Encoding: xchunked'],
        ['Transfer-Encoding: gzip, chunked'],
      ]) {
        const raw = await RawSocket.open(port)
        raw.write(
          bytesOf({ ...door, body: '' }, { extra: [bearer], length }) + `0\r\n\r\n${hidden}`,
        )
        await raw.untilClosed()
        expect(parseAnswers(raw.received).map(({ status }) => status)).to.deep.equal([400])
      }
    }
  })
})

/** An answer without what is of the moment. */
function shape(answer: Awaited<ReturnType<typeof exchange>>): object {
  const { date: _, ...headers } = answer?.headers ?? {}
  return { ...answer, headers }
}
