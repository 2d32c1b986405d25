import { expect } from 'chai'
import { join } from 'node:path'
import { RawSession, rpc } from '../../helpers/mcp.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { openFilesOf, type RunningServe } from '../../helpers/serve-process.ts'
import { exchange, RawSocket, requestText } from '../../process/raw-socket.ts'
import { until } from '../../helpers/until.ts'

const ping = rpc('ping')
const host = 'Host: 127.0.0.1'
const json = 'Content-Type: application/json'

describe('bad HTTP', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    serve = await serveInProcess({ flags: ['--bound=refusedBodyDrainMs=300'] })
    session = await RawSession.open(serve.url)
  })

  after(() => serve.stop())

  afterEach('still answers', async () => {
    expect(await session.call('ping')).to.deep.include({ result: {} })
  })

  const post = (extra: readonly string[], body = ping, path = '/mcp') =>
    requestText(
      [`POST ${path} HTTP/1.1`, host, json, `Mcp-Session-Id: ${session.id}`, ...extra],
      body,
    )
  const length = `Content-Length: ${ping.length}`

  /** Title, bytes, status. */
  const refused: [string, () => string, number][] = [
    ['no request at all', () => 'hello\r\n\r\n', 400],
    ['TLS on a plain port', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['an HTTP/2 preface', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['a method nobody knows', () => 'BREW /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['an unknown version', () => 'GET /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n', 400],
    ['no Host', () => 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['an empty Host', () => requestText(['GET /healthz HTTP/1.1', 'Host:']), 400],
    ['both lengths', () => post([length, 'Transfer-Encoding: chunked'], `0\r\n\r\n`), 400],
    ['both lengths, swapped', () => post(['Transfer-Encoding: chunked', length], `0\r\n\r\n`), 400],
    ['two lengths', () => post([length, 'Content-Length: 3']), 400],
    ['the same length twice', () => post([length, length]), 400],
    ['a list of lengths', () => post([`Content-Length: 3, 3`]), 400],
    ['a negative length', () => post(['Content-Length: -1']), 400],
    ['a signed length', () => post([`Content-Length: +${ping.length}`]), 400],
    ['a length in hexadecimal', () => post(['Content-Length: 0x2a']), 400],
    ['a chunk size that is none', () => post(['Transfer-Encoding: chunked'], 'zz\r\n'), 400],
    ['a negative chunk size', () => post(['Transfer-Encoding: chunked'], '-1\r\n'), 400],
    [
      'a chunk size beyond 2^64',
      () => post(['Transfer-Encoding: chunked'], `${'f'.repeat(20)}\r\n`),
      400,
    ],
    [
      'a chunk longer than it said',
      () => post(['Transfer-Encoding: chunked'], '1\r\nab\r\n0\r\n\r\n'),
      400,
    ],
    [
      'an encoding that is no last chunked',
      () => post(['Transfer-Encoding: chunked, gzip'], ''),
      400,
    ],
    ['an encoding with a tab', () => post(['Transfer-Encoding: \x0bchunked'], '0\r\n\r\n'), 400],
    [
      'two encodings',
      () => post(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], ''),
      400,
    ],
    ['a header with a space before the colon', () => post(['Content-Length : 5']), 400],
    ['a folded header', () => post(['X-A: 1\r\n 2', length]), 400],
    ['a header without name', () => post([': 1', length]), 400],
    ['a NUL in a header', () => post(['X-A: 1\0', length]), 400],
    ['a bare CR in a header', () => post(['X-A: 1\rX-B: 2', length]), 400],
    ['a bare LF between headers', () => post(['X-A: 1\nX-B: 2', length]), 400],
    ['two Hosts', () => post(['Host: localhost', length]), 400],
    ['two session ids', () => post(['mcp-session-id: x', length]), 400],
    ['two keys', () => post(['Authorization: Bearer a', 'authorization: Bearer b', length]), 400],
    ['two origins', () => post(['Origin: http://localhost', 'Origin: http://evil', length]), 400],
    ['two content types', () => post(['Content-Type: text/plain', length]), 400],
    [
      'two versions',
      () => post(['MCP-Protocol-Version: 2025-11-25', 'MCP-Protocol-Version: x', length]),
      400,
    ],
    ['an unknown session', () => post([length]).replace(session.id, 'nobody'), 404],
    ['no session', () => post([length]).replace(/Mcp-Session-Id.*\r\n/, ''), 400],
    ['another content type', () => post([length]).replace('application/json', 'text/plain'), 415],
    ['an Accept that cannot be met', () => post([length, 'Accept: text/html']), 406],
    ['an unknown protocol version', () => post([length, 'MCP-Protocol-Version: 1999-01-01']), 400],
    ['PUT', () => post([length]).replace('POST', 'PUT'), 405],
    [
      'OPTIONS without an origin',
      () => requestText(['OPTIONS /mcp HTTP/1.1', 'Host: localhost']),
      405,
    ],
    ['OPTIONS *', () => requestText(['OPTIONS * HTTP/1.1', 'Host: localhost']), 404],
    [
      'a request for another host, as to a proxy',
      () => requestText(['GET http://evil.example/mcp HTTP/1.1', 'Host: localhost']),
      403,
    ],
    ['TRACE', () => requestText(['TRACE /mcp HTTP/1.1', 'Host: localhost']), 405],
    ['headers of 20,000 bytes', () => post([`X-A: ${'x'.repeat(20_000)}`, length]), 431],
    ['1,001 headers of 7 bytes', () => post([...Array(1000).fill('X-A: 1'), length]), 431],
    ['3,000 headers', () => post([...Array(3000).fill('X-A: 1'), length]), 431],
    [
      'a target of 20,000 bytes',
      () => requestText([`GET /${'x'.repeat(20_000)} HTTP/1.1`, 'Host: localhost']),
      431,
    ],
  ]

  for (const [title, bytes, status] of refused) {
    it(`answers ${status} to ${title}`, async () => {
      const answer = await exchange(serve.port, bytes())
      expect(answer?.status).to.equal(status)
      expect(answer?.body).not.to.match(/node_modules|\bat [A-Z]|\/dist\//)
    })
  }

  it('says as a problem document what is wrong with bytes that are no request', async () => {
    for (const [bytes, code] of [
      ['nonsense\r\n\r\n', 'malformed-request'],
      [post([`X-A: ${'x'.repeat(20_000)}`, length]), 'headers-too-large'],
    ] as const) {
      const answer = await exchange(serve.port, bytes)
      expect(answer?.headers).to.have.property('content-type', 'application/problem+json')
      expect(JSON.parse(answer?.body ?? '')).to.include({ code, status: answer?.status })
    }
  })

  it('does not act on what follows a message of unclear length', async () => {
    const hidden = post([length])
    for (const start of [
      post([`Content-Length: ${hidden.length + 5}`, 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
      post(['Content-Length: 0', `Content-Length: ${hidden.length}`], ''),
      post(['Transfer-Encoding: xchunked'], ''),
    ]) {
      const raw = await RawSocket.open(serve.port)
      raw.write(start + hidden)
      const answers = await raw.answers(2)
      expect(raw.closed).to.equal(true)
      expect(answers.map(answer => answer.status)).to.deep.equal([400])
    }
  })

  it('answers pipelined requests in their order, one answer each', async () => {
    const raw = await RawSocket.open(serve.port)
    const ids = Array.from({ length: 50 }, (_, index) => index)
    const messages = ids.map(id => rpc(id % 2 ? 'ping' : 'resources/list', undefined, id))
    raw.write(messages.map(body => post([`Content-Length: ${body.length}`], body)).join(''))
    const answers = await raw.answers(50)
    expect(answers.map(answer => JSON.parse(answer.body).id)).to.deep.equal(ids)
    raw.close()
  })

  it('sends 100 Continue to who asks for it, and refuses other expectations', async () => {
    const raw = await RawSocket.open(serve.port)
    raw.write(post([length, 'Expect: 100-continue'], ''))
    const [interim] = await raw.answers(1)
    expect(interim?.status).to.equal(100)
    raw.write(ping)
    expect((await raw.answers(2))[1]?.status).to.equal(200)
    raw.close()
    const upload = await RawSocket.open(serve.port)
    const asking = ['Content-Length: 5', 'Expect: 100-continue']
    const key = `Authorization: Bearer ${serve.token}`
    upload.write(post([...asking, key], '', '/host/v1/scene'))
    expect((await upload.answers(1))[0]?.status).to.equal(100)
    upload.write('null\n')
    expect((await upload.answers(2))[1]?.status).to.equal(200)
    upload.close()
    const other = await exchange(serve.port, post([length, 'Expect: tea']))
    expect(other?.status).to.equal(417)
  })

  it('speaks HTTP/1.0, closing afterwards', async () => {
    const raw = await RawSocket.open(serve.port)
    raw.write(post([length]).replace('HTTP/1.1', 'HTTP/1.0'))
    const [answer] = await raw.answers(1)
    expect(answer?.status).to.equal(200)
    expect(JSON.parse(answer?.body ?? '').result).to.deep.equal({})
    await raw.untilClosed()
  })

  it('forgets requests that are aborted, wherever they stopped', async () => {
    const whole = post([length])
    const { length: files } = openFilesOf(process.pid)
    const sockets = []
    for (let end = 1; end < whole.length; end += 3) {
      const raw = await RawSocket.open(serve.port)
      raw.write(whole.slice(0, end))
      sockets.push(raw)
    }
    for (const raw of sockets) raw.socket.resetAndDestroy()
    await until(() => openFilesOf(process.pid).length <= files, 'their sockets are closed')
  })

  it('answers a client that closed its half after the request', async () => {
    const raw = await RawSocket.open(serve.port)
    raw.socket.end(post([length]))
    const [answer] = await raw.answers(1)
    expect(answer?.status).to.equal(200)
    await raw.untilClosed()
  })

  it('keeps nothing of an upload that breaks off', async () => {
    const key = `Authorization: Bearer ${serve.token}`
    const raw = await RawSocket.open(serve.port)
    raw.write(post(['Content-Length: 5000000', key], 'x'.repeat(2_000_000), '/host/v1/artefacts'))
    const store = join(serve.registryDir, 'dcc-mcp-artefacts')
    const temporary = () => openFilesOf(process.pid).filter(path => path.startsWith(store))
    await until(() => temporary().length > 0, 'the upload has begun')
    raw.close()
    await until(() => temporary().length === 0, 'its file is closed')
    const { result } = await session.call('resources/list')
    const uris = result.resources.map((each: { uri: string }) => each.uri)
    expect(uris.filter((uri: string) => uri.startsWith('artefact:'))).to.deep.equal([])
  })
})

describe('clients that stop sending', () => {
  let serve: RunningServe

  before(async () => {
    const limits = ['headersTimeoutMs=400', 'bodyTimeoutMs=400']
    serve = await serveInProcess({ flags: limits.map(limit => `--bound=${limit}`) })
  })

  after(() => serve.stop())

  afterEach('still answers', async () => {
    const answer = await exchange(serve.port, requestText(['GET /healthz HTTP/1.1', host]))
    expect(answer?.status).to.equal(200)
  })

  it('cuts a client whose headers never end', async () => {
    const raw = await RawSocket.open(serve.port)
    raw.write(`POST /mcp HTTP/1.1\r\n${host}\r\n`)
    await raw.untilClosed()
    expect(raw.received).to.match(/^HTTP\/1\.1 408 /)
  })

  it('cuts a client that says nothing at all', async () => {
    const raw = await RawSocket.open(serve.port)
    await raw.untilClosed()
  })

  it('answers 408 to a body that stops', async () => {
    for (const path of ['/mcp', '/host/v1/scene', '/host/v1/artefacts']) {
      const head = [`POST ${path} HTTP/1.1`, host, json, 'Content-Length: 50']
      const key = `Authorization: Bearer ${serve.token}`
      const answer = await exchange(serve.port, requestText([...head, key], '{"a":'))
      expect(answer?.status, path).to.equal(408)
    }
  })
})
