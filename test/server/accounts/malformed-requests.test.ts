import { expect } from 'chai'
import { exchange, RawSocket, requestText } from '../../process/raw-socket.ts'
import { type AccountsServer, withAccountsServer } from './harness.ts'

const login = '/api/v1/auth/login'
const get = 'GET /healthz HTTP/1.1'
const host = 'Host: localhost'
const portOf = ({ base }: AccountsServer) => Number(new URL(base).port)

/** A second request, behind one whose end is a matter of opinion: nobody may act on it. */
const hidden = requestText(['POST /api/v1/auth/logout HTTP/1.1', host, 'X-Hidden: yes'])

const post = (headers: readonly string[], body = '0\r\n\r\n') =>
  requestText([`POST ${login} HTTP/1.1`, host, 'Content-Type: application/json', ...headers], body)

const chunked = 'Transfer-Encoding: chunked'

describe('requests of unclear length', () => {
  const unclear: [what: string, text: string][] = [
    ['a length before chunks', post(['Content-Length: 5', chunked])],
    ['a length after chunks', post([chunked, 'Content-Length: 5'])],
    ['two lengths', post(['Content-Length: 0', `Content-Length: ${hidden.length}`], '')],
    ['the same length twice', post(['Content-Length: 2', 'Content-Length: 2'], '{}')],
    ['a list of lengths', post(['Content-Length: 2, 2'], '{}')],
    ['a length with a sign', post(['Content-Length: +2'], '{}')],
    ['a negative length', post(['Content-Length: -1'], '{}')],
    ['a length in another base', post(['Content-Length: 0x2'], '{}')],
    ['a coding that nobody knows', post(['Transfer-Encoding: xchunked'], '')],
    ['a coding within chunks', post(['Transfer-Encoding: gzip, chunked'])],
    ['chunks that are not the last coding', post(['Transfer-Encoding: chunked, identity'])],
    ['two lines of codings', post([chunked, 'Transfer-Encoding: identity'])],
    ['a space before the colon', post(['Transfer-Encoding : chunked'])],
    ['a coding on a folded line', post(['Transfer-Encoding:', ' chunked'])],
    ['a chunk of a size in another base', post([chunked], '0x2\r\n{}\r\n0\r\n\r\n')],
    ['a chunk of a negative size', post([chunked], '-1\r\n{}\r\n0\r\n\r\n')],
    ['a chunk whose size overflows', post([chunked], 'ffffffffffffffff1\r\n{}\r\n0\r\n\r\n')],
    ['a chunk after a bare line feed', post([chunked], '2\n{}\r\n0\r\n\r\n')],
  ]
  for (const [what, text] of unclear) {
    it(`end the connection, with one problem, for ${what}`, () =>
      withAccountsServer(async registry => {
        const raw = await RawSocket.open(portOf(registry))
        raw.write(text + hidden)
        await raw.untilClosed()
        const answers = await raw.answers(2)
        expect(answers.map(({ status }) => status)).to.deep.equal([400])
        expect(answers[0]?.headers).to.include({ 'content-type': 'application/problem+json' })
        expect(JSON.parse(answers[0]?.body ?? '').code).to.equal('malformed-request')
        expect(registry.accessed.map(({ path }) => path)).not.to.include('/api/v1/auth/logout')
      }))
  }

  it('are refused by the parser alone: a clear one is followed by the next', () =>
    withAccountsServer(async registry => {
      const raw = await RawSocket.open(portOf(registry))
      raw.write(post([chunked], '2\r\n{}\r\n0\r\n\r\n') + hidden)
      const answers = await raw.answers(2)
      raw.close()
      expect(answers.map(({ status }) => status)).to.deep.equal([422, 401])
    }))
})

describe('requests that are not quite HTTP', () => {
  const broken: [what: string, text: string][] = [
    ['line feeds alone', `${get}\n${host}\n\n`],
    ['one line feed alone', `${get}\r\n${host}\nX: 1\r\n\r\n`],
    ['one carriage return alone', `${get}\r\n${host}\rX: 1\r\n\r\n`],
    ['a folded line', requestText([get, host, 'X: a', ' b'])],
    ['a folded token', requestText([get, host, 'Authorization: Bearer', ' abc'])],
    ['no Host', requestText([get])],
    ['an empty Host', requestText([get, 'Host:'])],
    ['no Host in HTTP/1.0', requestText(['GET /healthz HTTP/1.0'])],
    ['a space in its path', requestText(['GET /health z HTTP/1.1', host])],
    ['a byte of no alphabet in its path', requestText(['GET /\u00ff HTTP/1.1', host])],
    ['no version', 'GET /healthz\r\n\r\n'],
    ['the beginning of TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000'],
    ['the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ]
  for (const [what, text] of broken) {
    it(`get a problem for ${what}`, () =>
      withAccountsServer(async registry => {
        const answer = await exchange(portOf(registry), text)
        expect(answer?.status).to.equal(400)
        const { code } = JSON.parse(answer?.body ?? '')
        expect(code).to.equal('malformed-request')
      }))
  }
})

describe('methods that do more than ask', () => {
  const refused: [line: string, more: string[]][] = [
    ['CONNECT evil.example:443 HTTP/1.1', []],
    ['CONNECT localhost:443 HTTP/1.1', []],
    ['TRACE /healthz HTTP/1.1', ['Authorization: Bearer a-token']],
    [`GET ${login} HTTP/1.1`, ['X-HTTP-Method-Override: POST']],
    [`GET ${login} HTTP/1.1`, ['X-HTTP-Method: POST']],
    [`GET ${login} HTTP/1.1`, ['X-Method-Override: POST']],
    [`GET ${login}?_method=POST HTTP/1.1`, []],
  ]
  for (const [line, more] of refused) {
    it(`get 405: ${[line, ...more].join(', ')}`, () =>
      withAccountsServer(async registry => {
        const answer = await exchange(portOf(registry), requestText([line, host, ...more]))
        expect(answer?.status).to.equal(405)
        expect(answer?.headers).to.have.property('allow')
        expect(JSON.parse(answer?.body ?? '').code).to.equal('method-not-allowed')
        // TRACE would show a page the token that it was not meant to see.
        expect(answer?.body).not.to.include('a-token')
      }))
  }

  it('leave nothing open behind CONNECT', () =>
    withAccountsServer(async registry => {
      const raw = await RawSocket.open(portOf(registry))
      raw.write(requestText(['CONNECT localhost:443 HTTP/1.1', host]) + hidden)
      await raw.untilClosed()
      expect((await raw.answers(1)).map(({ status }) => status)).to.deep.equal([405])
      expect(registry.accessed).to.deep.equal([])
    }))
})

describe('a body that waits to be asked for', () => {
  const expecting = post(['Content-Length: 2', 'Expect: 100-continue'], '')

  it('is asked for once, by a request that is taken', () =>
    withAccountsServer(async registry => {
      const raw = await RawSocket.open(portOf(registry))
      raw.write(expecting)
      expect((await raw.answers(1)).map(({ status }) => status)).to.deep.equal([100])
      raw.write('{}')
      expect((await raw.answers(2)).map(({ status }) => status)).to.deep.equal([100, 422])
      raw.close()
    }))

  it('is not asked for by one that is refused', () =>
    withAccountsServer(async registry => {
      const refused = expecting.replace(host, 'Host: evil.example')
      const raw = await RawSocket.open(portOf(registry))
      raw.write(refused)
      expect((await raw.answers(1)).map(({ status }) => status)).to.deep.equal([403])
      raw.close()
    }))
})
