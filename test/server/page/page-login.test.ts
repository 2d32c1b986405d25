import { expect } from 'chai'
import { freePort } from '../../helpers/free-port.ts'
import { ask, postHeaders, RawSession } from '../../helpers/mcp.ts'
import { fromPage, PageBrowser, useKey, useLink } from '../../helpers/page.ts'
import { listenStateless, statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const key = 'a-key-of-thirty-two-characters-or-so'

describe('logging in to the page', () => {
  let serve: RunningServe
  /** Without a key, and with pages of another origin that may call /mcp. */
  let other: RunningServe
  const allowedOrigin = 'https://studio.example'

  before(async () => {
    serve = await serveInProcess({ env: { SERVICE_MCP_API_KEY: key } })
    other = await serveInProcess({ flags: ['--allowed-origin', allowedOrigin] })
    await serve.post('scene', { objects: ['Cube'] })
  })

  const link = async (from = serve): Promise<string> => (await from.post('page-login', {})).json.url
  const browser = async (from = serve) =>
    new PageBrowser(from.base, await useLink(from.base, await link(from)))
  const read = async (headers: Record<string, string>, base = serve.base) => {
    const params = { uri: 'scene://current' }
    return (await ask(`${base}/mcp`, statelessPost('resources/read', params, headers))).status
  }
  const listen = (headers: Record<string, string>) =>
    listenStateless(serve.url, { resourceSubscriptions: ['scene://current'] }, 1, headers)

  it('takes a link of the host link, once', async () => {
    const answer = await serve.post('page-login', '', { 'Content-Type': 'text/plain' })
    expect(answer.status).to.equal(201)
    expect(answer.json.expires_in).to.equal(300)
    const { url } = answer.json
    expect(url).to.match(new RegExp(`^${serve.base}/#login=[\\w-]{43}$`))
    const login = await useLink(serve.base, url)
    expect(login.json).to.deep.equal({ logged_in: true, notes: true, needs_key: true })
    const again = await useLink(serve.base, url)
    expect([again.status, again.json.code]).to.deep.equal([403, 'login-invalid'])
    expect(again.headers).not.to.have.property('set-cookie')
  })

  it('makes links for holders of the host token alone, and never for a web page', async () => {
    const url = `${serve.hostUrl}/v1/page-login`
    const refused = async (headers: Record<string, string>) =>
      (await ask(url, { method: 'POST', headers })).status
    expect(await refused({})).to.equal(401)
    expect(await refused({ Authorization: `Bearer ${key}` })).to.equal(401)
    expect(await refused((await browser()).headers)).to.equal(403)
    const host = { Authorization: `Bearer ${serve.token}` }
    expect(await refused({ ...host, Origin: serve.base })).to.equal(403)
    expect(await refused({ ...host, 'X-Forwarded-For': '192.0.2.1' })).to.equal(403)
    expect((await ask(url, { headers: host })).status).to.equal(405)
  })

  it('takes no code that was guessed, and nothing that is none', async () => {
    for (const guess of ['A'.repeat(43), (await link()).slice(0, -1), '']) {
      const refused = await useLink(serve.base, `${serve.base}/#login=${guess}`)
      expect([refused.status, refused.json.code]).to.deep.equal([403, 'login-invalid'])
    }
    const send = async (body: string) =>
      ask(`${serve.base}/page/session`, { method: 'POST', headers: fromPage(serve.base), body })
    for (const body of ['', '{"code":1}', '{"code":"x","more":1}', '{"code":']) {
      expect((await send(body)).status, body).to.equal(400)
    }
    expect((await send(JSON.stringify({ code: 'x'.repeat(5000) }))).status).to.equal(413)
  })

  it('sets a cookie that scripts cannot read, whose name carries the port', async () => {
    const { headers } = await useLink(serve.base, await link())
    const [written = '', ...more] = headers['set-cookie'] ?? []
    expect(more).to.deep.equal([])
    const [pair = '', ...attributes] = written.split('; ')
    expect(pair).to.match(new RegExp(`^service-page-${serve.port}=[\\w-]{43}$`))
    expect(attributes).to.have.members(['Path=/', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict'])
    expect(headers['cache-control']).to.equal('no-store')
  })

  it('reads with the cookie what a key reads: /mcp in both transports, and artefacts', async () => {
    const { headers } = await browser()
    expect(await read({})).to.equal(401)
    expect(await read(headers)).to.equal(200)
    expect(await read({ Authorization: `Bearer ${key}` })).to.equal(200)
    const hex = await serve.store('kept')
    const url = `${serve.base}/artefacts/sha256/${hex}`
    expect((await ask(url)).status).to.equal(401)
    // A link on the page: no header of its own, and no Origin.
    const { 'Service-Page': _, Origin: __, ...ofLink } = headers
    expect((await ask(url, { headers: ofLink })).text).to.equal('kept')
    const session = await RawSession.open(serve.url, '2025-11-25', headers)
    const { clients } = await session.readJson('server://clients')
    expect(clients.map((each: any) => each.principal)).to.include.members(['api-key'])
    expect(clients.some((each: any) => /^page:\d+$/.test(each.principal))).to.equal(true)
    await session.delete()
  })

  const strangers: [name: string, change: (base: string, port: number) => object][] = [
    ['of the same site, from another port', () => ({ 'Sec-Fetch-Site': 'same-site' })],
    ['of another site', () => ({ 'Sec-Fetch-Site': 'cross-site' })],
    ['of an address that was typed', () => ({ 'Sec-Fetch-Site': 'none' })],
    ['with the origin of another port', (_, port) => ({ Origin: `http://127.0.0.1:${port + 1}` })],
    [
      'with the origin of another port, by a browser that says no more',
      (_, port) => ({ Origin: `http://127.0.0.1:${port + 1}`, 'Sec-Fetch-Site': undefined }),
    ],
    ['with the origin null', () => ({ Origin: 'null' })],
    [
      'that say nothing of where they come from',
      () => ({ Origin: undefined, 'Sec-Fetch-Site': undefined }),
    ],
    ['without the header of the page', () => ({ 'Service-Page': undefined })],
  ]
  for (const [name, change] of strangers) {
    it(`takes no cookie of requests ${name}`, async () => {
      const own = await browser()
      const url = await link()
      const changed = { ...own.headers, ...change(serve.base, serve.port) }
      const headers = Object.fromEntries(
        Object.entries(changed).filter(([, value]) => value !== undefined),
      )
      expect(await read(headers)).to.be.oneOf([401, 403])
      const hex = 'a'.repeat(64)
      const get = await ask(`${serve.base}/artefacts/sha256/${hex}`, { headers })
      // A read needs no header of its own.
      expect(get.status).to.be.oneOf('Service-Page' in headers ? [401, 403] : [404])
      const { Cookie: _, ...bare } = headers
      expect((await useLink(serve.base, url, bare)).status).to.equal(403)
      expect((await own.ask(headers)).status).to.equal(403)
      for (const path of ['/page/session', '/mcp']) {
        const out = await ask(serve.base + path, { method: 'DELETE', headers })
        expect(out.status, path).to.be.oneOf([401, 403])
        expect(out.headers).not.to.have.any.keys('set-cookie', 'access-control-allow-origin')
      }
      // Neither the link nor the login was used up.
      expect((await useLink(serve.base, url)).status).to.equal(200)
      expect(await own.isLoggedIn()).to.equal(true)
    })
  }

  it('takes the cookie by the Origin alone, as browsers send it over plain HTTP under a name', async () => {
    const { headers } = await browser()
    const { 'Sec-Fetch-Site': _, ...byOrigin } = headers
    expect(await read(byOrigin)).to.equal(200)
    const { Origin: __, ...bySite } = headers
    expect(await read(bySite)).to.equal(200)
  })

  it('is beaten by Authorization, right or wrong', async () => {
    const own = await browser()
    const sent = (authorization: string) => ({ ...own.headers, Authorization: authorization })
    expect(await read(sent('Bearer wrong'))).to.equal(401)
    expect(await read(sent(`Bearer ${key}`))).to.equal(200)
    const noted = await own.post('/page/notes', { text: 'x' }, { Authorization: `Bearer ${key}` })
    expect([noted.status, noted.json.code]).to.deep.equal([401, 'auth-required'])
  })

  it('refuses forms, posts that need no permission, GET and preflights', async () => {
    const { cookie: Cookie } = await browser()
    const foreign = { Cookie, Origin: `http://127.0.0.1:1`, 'Sec-Fetch-Site': 'same-site' }
    const types = [
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/plain',
    ]
    const path = `${serve.base}/page/session`
    for (const type of types) {
      const headers = { ...foreign, 'Content-Type': type }
      expect((await ask(path, { method: 'POST', headers, body: 'code=1' })).status).to.equal(403)
    }
    const get = await ask(path, { headers: { Cookie, ...fromPage(serve.base) } })
    expect([get.status, get.headers.allow]).to.deep.equal([405, 'POST, DELETE'])
    const preflight = await ask(path, {
      method: 'OPTIONS',
      headers: { ...foreign, 'Access-Control-Request-Method': 'POST' },
    })
    expect(preflight.status).to.equal(405)
    expect(preflight.headers).not.to.have.property('access-control-allow-origin')
  })

  it('keeps CORS away from the pages of --allowed-origin, whose cookie does not count', async () => {
    const own = await browser(other)
    const headers = { ...own.headers, Origin: allowedOrigin, 'Sec-Fetch-Site': 'cross-site' }
    const bare = { ...fromPage(other.base), Origin: allowedOrigin }
    const refused = await useLink(other.base, await link(other), bare)
    expect(refused.status).to.equal(403)
    expect(refused.headers).not.to.have.property('access-control-allow-origin')
    expect((await own.post('/page/notes', { text: 'x' }, headers)).status).to.equal(403)
  })

  it('keeps two servers apart, whose cookies a browser sends to both', async () => {
    const [mine, theirs] = [await browser(), await browser(other)]
    expect(mine.cookie.split('=')[0]).not.to.equal(theirs.cookie.split('=')[0])
    const Cookie = `${mine.cookie}; ${theirs.cookie}`
    expect(await mine.isLoggedIn({ ...mine.headers, Cookie })).to.equal(true)
    expect(await theirs.isLoggedIn({ ...theirs.headers, Cookie })).to.equal(true)
    expect(await theirs.isLoggedIn({ ...theirs.headers, Cookie: mine.cookie })).to.equal(false)
    expect((await useLink(other.base, await link())).status).to.equal(403)
  })

  it('is over after a log-out: cookie and open streams, of that browser alone', async () => {
    const [own, another] = [await browser(), await browser()]
    const session = await RawSession.open(serve.url, '2025-11-25', own.headers)
    const streams = [await listen(own.headers), await session.listen()]
    const kept = await listen(another.headers)
    const out = await own.logOut()
    expect(out.status).to.equal(204)
    expect(out.headers['set-cookie']?.[0]).to.match(/^service-page-\d+=; .*Max-Age=0/)
    for (const stream of streams) await stream.untilEnded()
    expect(await own.isLoggedIn()).to.equal(false)
    expect(await read(own.headers)).to.equal(401)
    expect(await read(another.headers)).to.equal(200)
    expect((await own.logOut()).status).to.equal(204)
    const posted = await serve.post('scene', { objects: ['Other'] })
    expect(posted.status).to.equal(200)
    await kept.until(() => kept.messages.length > 1)
  })

  it('is over when the server stops: the next one knows no cookie', async () => {
    const flags = ['--port', String(await freePort())]
    const first = await serveInProcess({ flags })
    const own = await browser(first)
    await first.stop()
    const second = await serveInProcess({ flags })
    expect(second.base).to.equal(first.base)
    expect(await own.isLoggedIn()).to.equal(false)
    expect((await own.post('/page/notes', { text: 'x' })).status).to.equal(401)
    expect(await read(own.headers, second.base)).to.equal(200)
  })

  it('takes a key in place of a link, and counts wrong ones', async () => {
    const own = new PageBrowser(serve.base, await useKey(serve.base, key))
    expect(await read(own.headers)).to.equal(200)
    const limited = await serveInProcess({ env: { SERVICE_MCP_API_KEY: key } })
    const statuses = []
    for (let round = 0; round <= 100; round++) {
      statuses.push((await useKey(limited.base, `${key}${round}`)).status)
    }
    expect(new Set(statuses.slice(0, 100))).to.deep.equal(new Set([401]))
    expect(statuses[100]).to.equal(429)
    expect((await useKey(limited.base, key)).status, 'the right key').to.equal(200)
  })

  it('takes no key where none is needed to read', async () => {
    const refused = await useKey(other.base, key)
    expect(refused.status).to.equal(401)
    expect(refused.json.detail).to.contain('takes no keys')
    const asked = await ask(`${other.base}/page/session`, {
      method: 'POST',
      headers: fromPage(other.base),
      body: '{}',
    })
    expect(asked.json).to.deep.equal({ logged_in: false, notes: false, needs_key: false })
    expect(await read({}, other.base)).to.equal(200)
  })

  it('leaves no secret in log, audit and answers', async () => {
    const url = await link()
    const own = new PageBrowser(serve.base, await useLink(serve.base, url))
    const secrets = [url.split('=')[1] ?? '', key, own.cookie.split('=')[1] ?? '']
    const again = await useLink(serve.base, url)
    await useKey(serve.base, key)
    await own.post('/page/notes', { text: 'Too bright' })
    const session = await RawSession.open(serve.url, '2025-11-25', own.headers)
    const audit = JSON.stringify(await session.readJson('audit://recent'))
    expect(audit).to.contain('login').and.to.contain('note.add')
    const logOuts = () => serve.output().stderr.split('DELETE').length
    const before = logOuts()
    await own.logOut()
    await until(() => logOuts() > before, 'the log-out in the log')
    const { stderr } = serve.output()
    expect(stderr).to.contain('/page/session')
    for (const secret of secrets) {
      for (const text of [stderr, audit, again.text]) expect(text).not.to.contain(secret)
    }
    expect(stderr).not.to.contain('#login')
  })

  it('is not there with --no-page', async () => {
    const none = await serveInProcess({ flags: ['--no-page'] })
    const refused = await none.post('page-login', {})
    expect([refused.status, refused.json.code]).to.deep.equal([404, 'resource-not-enabled'])
    for (const path of ['/', '/page/session', '/page/notes']) {
      const answer = await ask(none.base + path, { method: 'POST', headers: postHeaders })
      expect(answer.status, path).to.equal(404)
    }
    expect((await ask(`${none.base}/`)).status).to.equal(404)
  })
})
