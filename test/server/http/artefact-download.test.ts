import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { type RequestOptions } from 'node:http'
import { makeProblem } from '../../../src/server/http/problem.ts'
import { ask, put, withServer } from './download-server.ts'

describe('artefact download', () => {
  it('sends the bytes with headers that keep a browser from running them', () =>
    withServer(async ({ store, port, opened }) => {
      const bytes = randomBytes(1_000_000)
      const hex = await put(store, bytes, { mime: 'text/html', displayName: 'page.html' })
      const { status, headers, body } = await ask(port, hex)
      expect(status).to.equal(200)
      expect(body.equals(bytes)).to.equal(true)
      expect(headers).to.include({
        'accept-ranges': 'bytes',
        'cache-control': 'private, no-cache',
        'content-disposition': 'attachment; filename="page.html"',
        'content-length': '1000000',
        'content-security-policy': "sandbox; default-src 'none'",
        'content-type': 'text/html',
        'cross-origin-resource-policy': 'same-origin',
        etag: `"${hex}"`,
        'last-modified': 'Tue, 01 Jan 2030 00:00:00 GMT',
        'x-content-type-options': 'nosniff',
      })
      const head = await ask(port, hex, { method: 'HEAD', headers: { Range: 'bytes=0-1' } })
      expect(head.status).to.equal(200)
      expect(head.headers).to.include({ 'content-length': '1000000', etag: `"${hex}"` })
      expect(head.body).to.have.length(0)
      const empty = await ask(port, await put(store, new Uint8Array()))
      expect([empty.status, empty.headers['content-length']]).to.deep.equal([200, '0'])
      expect(opened()).to.equal(0)
    }))

  it('returns 304 for a matching ETag', () =>
    withServer(async ({ store, port }) => {
      const hex = await put(store, randomBytes(100))
      for (const tag of [`"${hex}"`, `W/"${hex}"`, `"x", "${hex}"`, '*']) {
        const answer = await ask(port, hex, { headers: { 'If-None-Match': tag } })
        expect([tag, answer.status, answer.body.length]).to.deep.equal([tag, 304, 0])
        expect(answer.headers).to.include({ etag: `"${hex}"`, 'x-content-type-options': 'nosniff' })
      }
      const other = await ask(port, hex, { headers: { 'If-None-Match': '"x"' } })
      expect(other.status).to.equal(200)
      await store.remove(hex)
      const gone = await ask(port, hex, { headers: { 'If-None-Match': `"${hex}"` } })
      expect(gone.status).to.equal(404)
    }))

  it('sends one range, and the whole body for unsupported ranges', () =>
    withServer(async ({ store, port }) => {
      const bytes = randomBytes(1000)
      const hex = await put(store, bytes)
      const etag = `"${hex}"`
      const cases: [Record<string, string>, number, string | undefined][] = [
        [{ Range: 'bytes=0-0' }, 206, 'bytes 0-0/1000'],
        [{ Range: 'bytes=990-' }, 206, 'bytes 990-999/1000'],
        [{ Range: 'bytes=-10' }, 206, 'bytes 990-999/1000'],
        [{ Range: 'bytes=-5000' }, 206, 'bytes 0-999/1000'],
        [{ Range: 'bytes=500-9999' }, 206, 'bytes 500-999/1000'],
        [{ Range: 'bytes=10-19', 'If-Range': etag }, 206, 'bytes 10-19/1000'],
        [{ Range: 'bytes=10-19', 'If-Range': '"x"' }, 200, undefined],
        [{ Range: 'bytes=10-19', 'If-Range': `W/${etag}` }, 200, undefined],
        [{ Range: 'bytes=0-1,5-6' }, 200, undefined],
        [{ Range: 'bytes=20-10' }, 200, undefined],
        [{ Range: 'bytes=-' }, 200, undefined],
        [{ Range: 'lines=1-2' }, 200, undefined],
        [{ Range: 'bytes=1000-' }, 416, 'bytes */1000'],
        [{ Range: 'bytes=-0' }, 416, 'bytes */1000'],
      ]
      for (const [headers, status, contentRange] of cases) {
        const answer = await ask(port, hex, { headers })
        const name = JSON.stringify(headers)
        expect([name, answer.status]).to.deep.equal([name, status])
        expect(answer.headers['content-range'], name).to.equal(contentRange)
        if (status === 200) expect(answer.body.equals(bytes), name).to.equal(true)
        if (status !== 206) continue
        const [, start, end] = /(\d+)-(\d+)/.exec(contentRange ?? '') ?? []
        const part = bytes.subarray(Number(start), Number(end) + 1)
        expect(answer.body.equals(part), name).to.equal(true)
        expect(answer.headers['x-content-type-options'], name).to.equal('nosniff')
      }
      const nothing = await put(store, new Uint8Array())
      const answer = await ask(port, nothing, { headers: { Range: 'bytes=0-' } })
      expect([answer.status, answer.headers['content-range']]).to.deep.equal([416, 'bytes */0'])
    }))

  it('returns problem documents', () =>
    withServer(async ({ store, port }) => {
      const hex = await put(store, randomBytes(10))
      const cases: [string, RequestOptions, number, string][] = [
        ['0'.repeat(64), {}, 404, 'artefact-not-found'],
        [hex.toUpperCase(), {}, 404, 'artefact-not-found'],
        ['..%2f..%2fetc%2fpasswd', {}, 404, 'artefact-not-found'],
        [hex, { method: 'POST' }, 405, 'method-not-allowed'],
        [hex, { method: 'DELETE' }, 405, 'method-not-allowed'],
        [hex, { headers: { Range: 'bytes=10-' } }, 416, 'range-not-satisfiable'],
      ]
      for (const [name, options, status, code] of cases) {
        const answer = await ask(port, name, options)
        expect(answer.status, name).to.equal(status)
        expect(answer.headers['content-type']).to.equal('application/problem+json')
        expect(answer.headers['x-content-type-options']).to.equal('nosniff')
        const problem = JSON.parse(answer.body.toString())
        expect(problem).to.deep.equal({
          ...makeProblem(status, code, problem.detail),
          type: `urn:service:problem:${code}`,
        })
        expect(problem.detail).to.be.a('string')
        if (status === 405) expect(answer.headers.allow).to.equal('GET, HEAD')
      }
      const head = await ask(port, '0'.repeat(64), { method: 'HEAD' })
      expect([head.status, head.body.length]).to.deep.equal([404, 0])
    }))

  const names: [string | undefined, string][] = [
    [undefined, 'attachment; filename="<hex>"'],
    ['a b.png', 'attachment; filename="a b.png"'],
    ['../../x"y\\z', 'attachment; filename="_.._x_y_z"'],
    ['.bashrc', 'attachment; filename="bashrc"'],
    ['50%;x', 'attachment; filename="50__x"; filename*=UTF-8\'\'50%25%3Bx'],
    [
      "Wörk 'a'.png",
      "attachment; filename=\"W_rk 'a'.png\"; filename*=UTF-8''W%C3%B6rk%20%27a%27.png",
    ],
    ['\ud800x\u202egnp.exe', 'attachment; filename="_x_gnp.exe"'],
  ]
  for (const [displayName, expected] of names) {
    it(`names the file ${JSON.stringify(displayName)} safely`, () =>
      withServer(async ({ store, port }) => {
        const options = displayName === undefined ? {} : { displayName }
        const hex = await put(store, randomBytes(10), options)
        const { headers } = await ask(port, hex)
        expect(headers['content-disposition']).to.equal(expected.replace('<hex>', hex))
      }))
  }
})
