import { expect } from 'chai'
import { RawSession, ask } from '../../helpers/mcp.ts'
import { exchange, requestText } from '../../process/raw-socket.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const hex = 'a'.repeat(64)
const secret = 'root:'

describe('bad addresses to the real program', () => {
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    serve = await serveInProcess()
    session = await RawSession.open(serve.url)
    await serve.post('events/known', { events: [] })
  })

  after(() => serve.stop())

  afterEach('still answers', async () => {
    expect(await session.call('ping')).to.deep.include({ result: {} })
  })

  /** Title, URI, code when read. */
  const uris: [string, string, number][] = [
    ['of 2,049 characters', `scene://${'x'.repeat(2041)}`, -32602],
    ['with a NUL', 'scene://cur\0rent', -32602],
    ['with an escaped NUL', 'scene://current%00', -32002],
    ['with a line break', 'scene://current\n', -32602],
    ['with an escape sequence', 'scene://\x1b[2J', -32602],
    ['with a space', 'scene:// current', -32602],
    ['with umlauts', 'scene://m\u00f6bel', -32602],
    ['with an emoji', 'scene://\u{1f3ac}', -32602],
    ['with half a surrogate pair', 'scene://\ud83d', -32602],
    ['with a broken escape', 'scene://%zz', -32602],
    ['with an escape that is no UTF-8', 'scene://%ff', -32602],
    ['with an overlong escape', 'scene://%c0%af', -32602],
    ['without scheme', 'current', -32602],
    ['that is only a scheme', 'scene:', -32002],
    ['of a scheme nobody serves', 'file:///etc/passwd', -32002],
    ['of http', 'http://127.0.0.1/', -32002],
    ['with a fragment', 'scene://current#x', -32002],
    ['with a user and port', 'scene://user@current:80', -32002],
    ['with a repeated parameter', 'audit://recent?limit=1&limit=2', -32602],
    ['with a limit that is no number', 'audit://recent?limit=1e3', -32602],
    ['with a limit in hexadecimal', 'audit://recent?limit=0x10', -32602],
    ['with an infinite limit', 'audit://recent?limit=Infinity', -32602],
    ['with an empty limit', 'audit://recent?limit=', -32602],
    ['of no session', 'events://session/none', -32002],
    ['of a session that climbs', 'events://session/..%2f..%2fetc', -32002],
    ['of a session named __proto__', 'events://session/__proto__', -32002],
    ['of a negative cursor', 'events://session/known?cursor=-1', -32602],
    ['of the capture, which is not there', 'capture://current_window', -32002],
    ['of an artefact that climbs', 'artefact://sha256/../../../etc/passwd', -32602],
    ['of an artefact that climbs escaped', 'artefact://sha256/..%2f..%2f..%2fetc%2fpasswd', -32602],
    ['of an artefact that climbs escaped twice', 'artefact://sha256/%252e%252e%252fetc', -32602],
    ['of an artefact with backslashes', 'artefact://sha256/..%5c..%5cboot.ini', -32602],
    ['of an artefact with an absolute path', 'artefact://sha256//etc/passwd', -32602],
    ['of the sidecar of an artefact', `artefact://sha256/${hex}.json`, -32602],
    ['of an artefact in upper case', `artefact://sha256/${hex.toUpperCase()}`, -32602],
    ['of an artefact with 63 digits', `artefact://sha256/${hex.slice(1)}`, -32602],
    ['of an artefact with a NUL', `artefact://sha256/${hex}%00`, -32602],
    ['of an artefact by another hash', `artefact://md5/${hex.slice(32)}`, -32602],
    ['of an artefact nobody stored', `artefact://sha256/${hex}`, -32002],
  ]

  for (const [title, uri, code] of uris) {
    it(`answers ${code} to a read ${title}`, async () => {
      const { error, result } = await session.call('resources/read', { uri })
      expect(error?.code, JSON.stringify(result)).to.equal(code)
      if (code === -32002) expect(error.data.uri).to.equal(uri)
      expect(JSON.stringify(error)).not.to.contain(secret).and.not.to.contain(serve.registryDir)
    })
  }

  it('answers quickly to a URI of nearly 1 MB, whatever it is made of', async () => {
    const size = 1_000_000
    for (const piece of ['a', '%41', '/', '?a&', '{', '((', '%', 'a:', '\\', '\u00e9']) {
      const uri = `artefact://${piece.repeat(size / sizeInJson(piece))}`
      for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe']) {
        const { error } = await session.call(method, { uri })
        expect(error.code).to.equal(-32602)
        expect(JSON.stringify(error)).to.have.length.below(500)
      }
    }
  })

  it('answers quickly to URIs that are slow for careless patterns', async () => {
    for (const piece of ['a', '%41', '/', '//', '@', ':', '[', '&a=', '..', '.%2f']) {
      for (const start of ['scene://', 'scene:', 'artefact://sha256/', 'audit://recent?']) {
        const uri = `${start}${piece.repeat(2000)}`.slice(0, 2040) + '\u0001'
        const { error } = await session.call('resources/read', { uri })
        expect(error.code).to.equal(-32602)
      }
    }
  })

  /** Refused as a whole: a URL parser or a decoder would make another path of it. */
  const rewritten = /\/(\.|%2e){1,2}(\/|$)|\\|%61/

  it('leaks no file through the download path', async () => {
    const stored = await serve.store('the bytes')
    const paths = [
      '../../../../etc/passwd',
      '..%2f..%2f..%2f..%2fetc%2fpasswd',
      '%2e%2e/%2e%2e/%2e%2e/etc/passwd',
      '%252e%252e%252f%252e%252e%252fetc%252fpasswd',
      '..\\..\\..\\etc\\passwd',
      '..%5c..%5cetc%5cpasswd',
      '/etc/passwd',
      '//etc/passwd',
      `${stored}.json`,
      `${stored}/`,
      `${stored}/../${stored}`,
      `${stored}%00`,
      `%61${stored.slice(1)}`,
      stored.toUpperCase().replace(/^\d*$/, 'A'),
      `${stored.slice(0, 2)}/${stored}`,
      '',
      '.',
      '..',
      'x'.repeat(10_000),
    ]
    for (const path of paths.filter(each => each !== stored)) {
      const target = `/artefacts/sha256/${path}`
      // Byte for byte: a client library would tidy the dots away.
      const text = requestText([`GET ${target} HTTP/1.1`, 'Host: 127.0.0.1'])
      const answer = await exchange(serve.port, text)
      const status = rewritten.test(target) ? 400 : 404
      expect(answer?.status, target.slice(0, 80)).to.equal(status)
      expect(answer?.body).not.to.contain(secret).and.not.to.contain('the bytes')
      expect(JSON.parse(answer?.body ?? '').status).to.equal(status)
    }
    expect((await ask(`${serve.base}/artefacts/sha256/${stored}`)).text).to.equal('the bytes')
    expect((await ask(`${serve.base}/artefacts/sha256/${stored}?x=1`)).text).to.equal('the bytes')
  })

  it('leaks no file through other paths', async () => {
    for (const target of [
      '/../../etc/passwd',
      '/mcp/../../etc/passwd',
      '/artefacts',
      '/artefacts/',
      '/artefacts/md5/x',
      '/instances/x.token',
      '/.well-known/oauth-protected-resource',
      '/%00',
      '/%ff',
      '/%zz',
      '//mcp',
      '/mcp/',
      '/MCP',
    ]) {
      const text = requestText([`GET ${target} HTTP/1.1`, 'Host: 127.0.0.1'])
      const answer = await exchange(serve.port, text)
      expect(answer?.status, target).to.equal(rewritten.test(target) ? 400 : 404)
      expect(JSON.parse(answer?.body ?? '').code, target).to.match(/not-found$|^body-invalid$/)
    }
  })
})

function sizeInJson(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}
