import { expect } from 'chai'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exchange, requestText } from '../../process/raw-socket.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { ask, startServer, type TestServer } from '../../helpers/mcp.ts'

const index = '<!doctype html><title>the page</title>'
const secret = 'outside of the page'

describe('the files of the page', () => {
  let folder: string
  let server: TestServer
  let port: number

  before(async () => {
    const parent = newFolder()
    folder = join(parent, 'page')
    await mkdir(join(folder, 'inner'), { recursive: true })
    const files = {
      'index.html': index,
      'app.js': 'export {}',
      'app.css': 'body {}',
      'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'LICENCES.txt': 'MIT',
      'live.html': secret,
      'app.js.map': secret,
      'inner/app.js': secret,
      '../outside.js': secret,
    }
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    server = await startServer({ enablePage: true }, { page: { folder } })
    port = Number(new URL(server.base).port)
  })

  it('are the index and those beside it that a page loads, each with its type', async () => {
    const types = {
      '/': 'text/html; charset=utf-8',
      '/page/app.js': 'text/javascript; charset=utf-8',
      '/page/app.css': 'text/css; charset=utf-8',
      '/page/icon.svg': 'image/svg+xml; charset=utf-8',
      '/page/LICENCES.txt': 'text/plain; charset=utf-8',
    }
    for (const [path, type] of Object.entries(types)) {
      const { status, headers } = await ask(server.base + path)
      expect([status, headers['content-type']], path).to.deep.equal([200, type])
    }
    expect((await ask(`${server.base}/`)).text).to.equal(index)
  })

  it('come with a policy that allows their origin alone', async () => {
    for (const path of ['/', '/page/app.js', '/page/icon.svg']) {
      const { headers } = await ask(server.base + path)
      expect(String(headers['content-security-policy']).split('; '), path).to.have.members([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ])
      expect(headers).to.include({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-cache',
      })
      expect(headers).not.to.have.any.keys('access-control-allow-origin', 'set-cookie')
    }
  })

  it('answer HEAD without a body, and 304 to what the browser has', async () => {
    const whole = await ask(`${server.base}/page/app.js`)
    const head = await ask(`${server.base}/page/app.js`, { method: 'HEAD' })
    expect([head.status, head.text]).to.deep.equal([200, ''])
    expect(head.headers['content-length']).to.equal(String(whole.text.length))
    const { etag = '' } = whole.headers
    expect(etag).to.match(/^"[\w-]{20,}"$/)
    const known = await ask(`${server.base}/page/app.js`, { headers: { 'If-None-Match': etag } })
    expect([known.status, known.text]).to.deep.equal([304, ''])
    expect(known.headers['content-security-policy']).to.be.a('string')
    const other = await ask(`${server.base}/page/app.css`, { headers: { 'If-None-Match': etag } })
    expect(other.status).to.equal(200)
  })

  it('are only read', async () => {
    for (const method of ['POST', 'DELETE', 'OPTIONS']) {
      for (const path of ['/', '/page/app.js']) {
        const { status } = await ask(server.base + path, { method })
        expect(status, method).to.equal(404)
      }
    }
  })

  const outside = [
    '/page/',
    '/page/index.html',
    '/page/live.html',
    '/page/app.js.map',
    '/page/inner/app.js',
    '/page/inner%2Fapp.js',
    '/page/../outside.js',
    '/page/%2e%2e/outside.js',
    '/page/..%2foutside.js',
    '/page/..\\outside.js',
    '/page/APP.JS',
    '/page/app.js%00',
    '/page/__proto__',
    '//page/app.js',
  ]
  it('are no others, however a path is spelt', async () => {
    for (const path of outside) {
      const lines = [`GET ${path} HTTP/1.1`, 'Host: localhost']
      const answer = await exchange(port, requestText(lines))
      expect(answer?.status, path).to.be.oneOf([400, 404])
      expect(answer?.headers['content-type'], path).to.match(/json$/)
      expect(answer?.body, path).not.to.contain(secret)
    }
  })
})
