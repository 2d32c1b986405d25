import { expect } from 'chai'
import { bearer, LinkServer, hello } from '../harness.ts'

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
  before(async () => {
    server = await LinkServer.start({ allowedOrigins: ['https://studio.example'] })
  })
  after(() => server.stop())

  async function answerTo(first: string, change: Lines): Promise<string> {
    const connection = await server.raw()
    connection.socket.write(written(first, change))
    await connection.until('\r\n\r\n')
    if (connection.received.includes('Connection: close')) await connection.closed
    connection.socket.destroy()
    return connection.received
  }

  const get = 'GET /host'
  const open: [what: string, first: string, change: Lines][] = [
    ['as documented', get, {}],
    ['with other letters', get, { Upgrade: 'WebSocket', Connection: 'keep-alive, upgrade' }],
    ['with more protocols', get, { 'Sec-WebSocket-Protocol': 'dcc-host.v2,dcc-host.v1' }],
    ['that offers compression', get, { 'Sec-WebSocket-Extensions': 'permessage-deflate' }],
  ]
  for (const [what, first, change] of open) {
    it(`opens a link ${what}`, async () => {
      const answer = (await answerTo(first, change)).toLowerCase()
      expect(answer).to.match(/^http\/1\.1 101 /)
      expect(answer).to.contain('sec-websocket-protocol: dcc-host.v1\r\n')
      expect(answer).not.to.contain('sec-websocket-extensions')
    })
  }

  const body = 'body-invalid'
  const protocol = { 'Sec-WebSocket-Protocol': null }
  const refused: [what: string, first: string, change: Lines, status: number, code: string][] = [
    ['without a protocol', get, protocol, 400, body],
    ['without a Host', get, { Host: null }, 400, body],
    ['with two tokens', get, { Authorization: [bearer.Authorization, 'Bearer x'] }, 400, body],
    ['without a token', get, { Authorization: null }, 401, 'auth-required'],
    ['with another scheme', get, { Authorization: 'Basic eDp5' }, 401, 'auth-required'],
    ['with a wrong token', get, { Authorization: 'Bearer x' }, 401, 'auth-refused'],
    ['of a foreign Host', get, { Host: 'evil.example' }, 403, 'request-refused'],
    ['of a foreign target', 'GET http://evil.example/host', {}, 400, ''],
    ['from an allowed page', get, { Origin: 'https://studio.example' }, 403, 'request-refused'],
    ['of another address', 'GET /hosts', {}, 404, 'route-not-found'],
    ['below /host', 'GET /host/v1/scene', {}, 405, 'method-not-allowed'],
    ['of the scene', 'POST /host/v2', { 'Content-Length': '0' }, 404, 'route-not-found'],
    ['that is none', get, { Upgrade: null, Connection: null }, 426, 'upgrade-required'],
    ['to something else', get, { Upgrade: 'h2c' }, 426, 'upgrade-required'],
    ['that is none, without a token', get, { Upgrade: null, Authorization: null }, 401, ''],
  ]
  for (const [what, first, change, status, code] of refused) {
    it(`answers ${status} ${code} to one ${what}`, async () => {
      const answer = await answerTo(first, change)
      expect(answer).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(answer).to.match(/\r\ncontent-type: application\/problem\+json\r\n/i)
      expect(answer).to.contain(`"code":"${code}`)
    })
  }

  for (const Upgrade of ['h2c', 'websocket']) {
    it(`answers a request of /mcp that offers ${Upgrade} as the plain one it is`, async () => {
      const connection = await server.raw()
      const message = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
      const change = {
        Upgrade,
        'Content-Type': 'application/json',
        Accept: 'application/json',
        'Content-Length': String(message.length),
      }
      connection.socket.write(written('POST /mcp', change) + message)
      await connection.until('\r\n\r\n')
      expect(connection.received).to.match(/^HTTP\/1\.1 [24]\d\d /)
      expect(connection.received).to.match(/\r\ncontent-type: application\/json/i)
    })
  }

  it('refuses what is no handshake', async () => {
    expect(await answerTo(get, { 'Sec-WebSocket-Version': '12' })).to.match(/^HTTP\/1\.1 400 /)
    expect(await answerTo('POST /host', {})).to.match(/^HTTP\/1\.1 405 /)
  })

  it('tells the audit log of strangers', async () => {
    server.refused.length = 0
    await answerTo(get, { Authorization: 'Bearer x' })
    await answerTo(get, { Origin: 'https://studio.example' })
    await answerTo(get, protocol)
    expect(server.refused.map(({ status, reason }) => `${status} ${reason}`)).to.deep.equal([
      '401 token_wrong',
      '403 origin_present',
    ])
  })
})

describe('the number of links', () => {
  it('is bounded, and a closed one makes room', async () => {
    const server = await LinkServer.start({ limits: { maxLinks: 2 } })
    try {
      const first = await server.join()
      const second = await server.open()
      const connection = await server.raw()
      connection.socket.write(written('GET /host', {}))
      await connection.closed
      expect(connection.received).to.match(/^HTTP\/1\.1 429 /)
      expect(connection.received).to.contain('"code":"limit-reached"')
      expect(connection.received).to.contain('\r\nRetry-After: 10\r\n')
      second.ws.close()
      await second.closed
      await first.settled()
      const third = await server.open()
      third.send(hello('run-1'))
      expect((await third.next()).type).to.equal('welcome')
    } finally {
      await server.stop()
    }
  })
})
