import { expect } from 'chai'
import { bearer, LinkServer } from '../harness.ts'

type Lines = Record<string, string | string[] | null>

const handshake: Lines = {
  Host: 'localhost',
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol': 'dcc-host.v1',
  ...bearer,
}

/** The handshake with other lines in place of its own; null takes one away. */
function written(first: string, change: Lines): string {
  const lines = Object.entries({ ...handshake, ...change }).flatMap(([name, value]) =>
    value === null ? [] : [value].flat().map(one => `${name}: ${one}\r\n`),
  )
  return `${first} HTTP/1.1\r\n${lines.join('')}\r\n`
}

describe('the handshake of the host link', () => {
  let server: LinkServer
  const studio = 'https://studio.example'
  before(async () => (server = await LinkServer.start({ allowedOrigins: [studio] })))

  async function answerTo(first: string, change: Lines): Promise<string> {
    const raw = await server.raw()
    raw.write(written(first, change))
    await raw.waitFor(() => raw.received.includes('\r\n\r\n'), 'the answer')
    if (raw.received.includes('Connection: close')) await raw.untilClosed()
    raw.close()
    return raw.received
  }

  const get = 'GET /host'
  const open: [what: string, change: Lines][] = [
    ['with more protocols', { 'Sec-WebSocket-Protocol': 'dcc-host.v2,dcc-host.v1' }],
    ['that offers compression', { 'Sec-WebSocket-Extensions': 'permessage-deflate' }],
  ]
  it('opens a link', async () => {
    for (const [what, change] of open) {
      const answer = (await answerTo(get, change)).toLowerCase()
      expect(answer, what).to.match(/^http\/1\.1 101 /)
      expect(answer).to.contain('sec-websocket-protocol: dcc-host.v1\r\n')
      expect(answer).not.to.contain('sec-websocket-extensions')
    }
  })

  const body = 'body-invalid'
  const protocol = { 'Sec-WebSocket-Protocol': null }
  const refused: [what: string, first: string, change: Lines, status: number, code: string][] = [
    ['without a protocol', get, protocol, 400, body],
    ['with two tokens', get, { Authorization: [bearer.Authorization, 'Bearer x'] }, 400, body],
    ['without a token', get, { Authorization: null }, 401, 'auth-required'],
    ['with a wrong token', get, { Authorization: 'Bearer x' }, 401, 'auth-refused'],
    ['of a foreign Host', get, { Host: 'evil.example' }, 403, 'request-refused'],
    ['from an allowed page', get, { Origin: studio }, 403, 'request-refused'],
    ['through a proxy', get, { Via: '1.1 proxy' }, 403, 'request-refused'],
    ['of another address', 'GET /hosts', {}, 404, 'route-not-found'],
    ['below /host', 'GET /host/v1/scene', {}, 405, 'method-not-allowed'],
    ['that is none', get, { Upgrade: null, Connection: null }, 426, 'upgrade-required'],
    ['that is none, without a token', get, { Upgrade: null, Authorization: null }, 401, ''],
  ]
  it('refuses what may not open one, and tells the audit log of strangers', async () => {
    for (const [what, first, change, status, code] of refused) {
      const answer = await answerTo(first, change)
      expect(answer, what).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(answer, what).to.match(/\r\ncontent-type: application\/problem\+json\r\n/i)
      expect(answer, what).to.contain(`"code":"${code}`)
    }
    expect(server.refused.map(({ status, reason }) => `${status} ${reason}`)).to.deep.equal([
      '401 token_missing',
      '401 token_wrong',
      '403 origin_present',
      '403 forwarded',
      '401 token_missing',
    ])
  })

  it('leaves a request of /mcp that offers an upgrade the plain one that it is', async () => {
    const message = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const change = { 'Content-Type': 'application/json', 'Content-Length': String(message.length) }
    const raw = await server.raw()
    raw.write(written('POST /mcp', change) + message)
    await raw.waitFor(() => raw.received.includes('\r\n\r\n'), 'the answer')
    expect(raw.received).to.match(/^HTTP\/1\.1 [24]\d\d /)
    expect(raw.received).to.match(/\r\ncontent-type: application\/json/i)
  })

  it('is refused with 429 while 16 links are open; a closed one makes room', async () => {
    const links = await Promise.all(Array.from({ length: 16 }, () => server.open()))
    const answer = await answerTo(get, {})
    expect(answer).to.match(/^HTTP\/1\.1 429 /)
    expect(answer).to.contain('"code":"limit-reached"').and.contain('\r\nRetry-After: 10\r\n')
    links[0]?.ws.close()
    await links[0]?.closed
    expect(await answerTo(get, {})).to.match(/^HTTP\/1\.1 101 /)
  })
})
