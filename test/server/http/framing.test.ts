import { expect } from 'chai'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { ask, RawSession, rpc } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
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
    ['no Host', () => 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['a malformed Host', () => get('/healthz').replace('127.0.0.1', 'localhost:999999'), 400],
    ['two Hosts', () => post(['Host: localhost', length]), 400],
    ['two session ids', () => post(['mcp-session-id: x', length]), 400],
    ['headers of 20,000 bytes', () => post([`X-A: ${'x'.repeat(20_000)}`, length]), 431],
    ['a target that is a star', () => get('*'), 400],
    ['a target with a backslash', () => get('/a\\b'), 400],
    ['a target with dots', () => get('/nothing/../healthz'), 400],
    ['a target with needless escapes', () => get('/%68ealthz'), 400],
    ['a target with a fragment', () => get('/healthz#'), 400],
    ['a whole address as the target', () => get('http://localhost/healthz'), 400],
    ['a Host with a user name', () => get('/mcp').replace('127', 'localhost@127'), 400],
    ['TRACE', () => get('/mcp').replace('GET', 'TRACE'), 405],
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
