import { expect } from 'chai'
import { join } from 'node:path'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { ask, RawSession, rpc } from '../../helpers/mcp.ts'
import { openFilesOf, type RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'
import { exchange, RawSocket, requestText } from '../../process/raw-socket.ts'

const ping = rpc('ping')
const host = 'Host: 127.0.0.1'
const json = 'Content-Type: application/json'
const length = `Content-Length: ${ping.length}`
const chunked = 'Transfer-Encoding: chunked'

describe('the HTTP side of serve', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    const bounds = ['headersTimeoutMs=1000', 'bodyTimeoutMs=1000']
    serve = await serveInProcess({ flags: bounds.map(bound => `--bound=${bound}`) })
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
  const get = (target: string, ...lines: string[]) =>
    requestText([`GET ${target} HTTP/1.1`, host, ...lines])
  const hostToken = () => `Authorization: Bearer ${serve.token}`

  const refused: [title: string, bytes: () => string, status: number][] = [
    ['bytes that are no request', () => 'nonsense\r\n\r\n', 400],
    ['TLS on a plain port', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['no Host', () => 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['a malformed Host', () => get('/healthz').replace('127.0.0.1', 'localhost:999999'), 400],
    ['two Hosts', () => post(['Host: localhost', length]), 400],
    ['two session ids', () => post(['mcp-session-id: x', length]), 400],
    ['two lengths', () => post([length, 'Content-Length: 3']), 400],
    ['a length and chunks', () => post([length, chunked], '0\r\n\r\n'), 400],
    ['a chunk size that is none', () => post([chunked], 'zz\r\n'), 400],
    ['a coding after chunked', () => post(['Transfer-Encoding: chunked, gzip'], ''), 400],
    ['a space before a colon', () => post(['Content-Length : 5']), 400],
    ['a bare line feed between headers', () => post(['X-A: 1\nX-B: 2', length]), 400],
    ['headers of 20,000 bytes', () => post([`X-A: ${'x'.repeat(20_000)}`, length]), 431],
    ['a target of 20,000 bytes', () => get(`/${'x'.repeat(20_000)}`), 431],
    ['a target that is a star', () => get('*'), 400],
    ['a target with a backslash', () => get('/a\\b'), 400],
    ['a whole address as the target', () => get('http://localhost/healthz'), 400],
    ['the address of another host', () => get('http://evil.example/mcp'), 400],
    ['a Host with a user name', () => get('/mcp').replace('127', 'localhost@127'), 400],
    ['an address of another protocol', () => get('ftp://localhost/healthz'), 400],
    ['TRACE', () => get('/mcp').replace('GET', 'TRACE'), 405],
    ['another expectation', () => post([length, 'Expect: tea']), 417],
  ]
  for (const [title, bytes, status] of refused) {
    it(`answers ${status} to ${title}`, async () => {
      const answer = await exchange(serve.port, bytes())
      expect(answer?.status).to.equal(status)
      expect(answer?.body).not.to.match(/node_modules|\bat [A-Z]|\/dist\//)
    })
  }

  it('does not act on what follows a message of unclear length', async () => {
    const hidden = post([length])
    for (const start of [
      post([`Content-Length: ${hidden.length + 5}`, chunked], '0\r\n\r\n'),
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

  it('sends 100 Continue where it is asked for', async () => {
    const raw = await RawSocket.open(serve.port)
    raw.write(post([length, 'Expect: 100-continue'], ''))
    expect((await raw.answers(1))[0]?.status).to.equal(100)
    raw.write(ping)
    expect((await raw.answers(2))[1]?.status).to.equal(200)
    raw.close()
    const upload = await RawSocket.open(serve.port)
    const asking = ['Content-Length: 5', 'Expect: 100-continue', hostToken()]
    upload.write(post(asking, '', '/host/v1/scene'))
    expect((await upload.answers(1))[0]?.status).to.equal(100)
    upload.write('null\n')
    expect((await upload.answers(2))[1]?.status).to.equal(200)
    upload.close()
  })

  it('speaks HTTP/1.0, and closes afterwards', async () => {
    const raw = await RawSocket.open(serve.port)
    raw.write(post([length]).replace('HTTP/1.1', 'HTTP/1.0'))
    const [answer] = await raw.answers(1)
    expect(answer?.status).to.equal(200)
    expect(JSON.parse(answer?.body ?? '').result).to.deep.equal({})
    await raw.untilClosed()
  })

  it('answers a client that closed its half after the request', async () => {
    const raw = await RawSocket.open(serve.port)
    raw.socket.end(post([length]))
    expect((await raw.answers(1))[0]?.status).to.equal(200)
    await raw.untilClosed()
  })

  it('closes the sockets of requests that are reset, wherever they stopped', async () => {
    const whole = post([length])
    const { length: files } = openFilesOf(process.pid)
    const sockets = []
    for (let end = 1; end < whole.length; end += 20) {
      const raw = await RawSocket.open(serve.port)
      raw.write(whole.slice(0, end))
      sockets.push(raw)
    }
    for (const raw of sockets) raw.socket.resetAndDestroy()
    await until(() => openFilesOf(process.pid).length <= files, 'their sockets are closed')
  })

  it('keeps nothing of an upload that breaks off', async () => {
    const raw = await RawSocket.open(serve.port)
    const announced = ['Content-Length: 5000000', hostToken()]
    raw.write(post(announced, 'x'.repeat(2_000_000), '/host/v1/artefacts'))
    const store = join(serve.registryDir, 'dcc-mcp-artefacts')
    const temporary = () => openFilesOf(process.pid).filter(path => path.startsWith(store))
    await until(() => temporary().length > 0, 'the upload has begun')
    raw.close()
    await until(() => temporary().length === 0, 'its file is closed')
    const { result } = await session.call('resources/list')
    const uris = result.resources.map((each: { uri: string }) => each.uri)
    expect(uris.filter((uri: string) => uri.startsWith('artefact:'))).to.deep.equal([])
  })

  it('answers 408 to headers or a body that stops, and closes a silent connection', async () => {
    const silent = await RawSocket.open(serve.port)
    const headless = await RawSocket.open(serve.port)
    headless.write(`POST /mcp HTTP/1.1\r\n${host}\r\n`)
    const statuses = ['/mcp', '/host/v1/scene', '/host/v1/artefacts'].map(async path => {
      const head = [`POST ${path} HTTP/1.1`, host, json, 'Content-Length: 50', hostToken()]
      return (await exchange(serve.port, requestText(head, '{"a":')))?.status
    })
    expect(await Promise.all(statuses)).to.deep.equal([408, 408, 408])
    await Promise.all([silent.untilClosed(), headless.untilClosed()])
    expect(headless.received).to.match(/^HTTP\/1\.1 408 /)
  })

  it('leaks no file through a path', async () => {
    const stored = await serve.store('the bytes')
    const paths: [target: string, status: number][] = [
      ['/artefacts/sha256/../../../../etc/passwd', 400],
      ['/artefacts/sha256/..%2f..%2f..%2f..%2fetc%2fpasswd', 404],
      ['/artefacts/sha256/%252e%252e%252fetc%252fpasswd', 404],
      ['/artefacts/sha256/..%5c..%5cetc%5cpasswd', 404],
      ['/artefacts/sha256//etc/passwd', 404],
      [`/artefacts/sha256/${stored}.json`, 404],
      [`/artefacts/sha256/${stored}%00`, 404],
      [`/artefacts/sha256/${stored.slice(0, 2)}/${stored}`, 404],
      ['/artefacts/sha256/', 404],
      ['/instances/x.token', 404],
      ['/mcp/../../etc/passwd', 400],
      ['/%zz', 404],
    ]
    for (const [target, status] of paths) {
      // Byte for byte: a client library would tidy the dots away.
      const answer = await exchange(serve.port, get(target))
      expect(answer?.status, target).to.equal(status)
      expect(answer?.body).not.to.contain('root:').and.not.to.contain('the bytes')
      expect(JSON.parse(answer?.body ?? '').status).to.equal(status)
    }
    expect((await ask(`${serve.base}/artefacts/sha256/${stored}?x=1`)).text).to.equal('the bytes')
  })
})
