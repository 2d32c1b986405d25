import { expect } from 'chai'
import { freePort } from '../../helpers/free-port.ts'
import { ask, Events, postHeaders, RawSession } from '../../helpers/mcp.ts'
import { fromPage, PageBrowser, useKey, useLink } from '../../helpers/page.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'
import { exchange, requestText } from '../../process/raw-socket.ts'
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
  after(() => Promise.all([serve.stop(), other.stop()]))

  const link = async (from = serve): Promise<string> => (await from.post('page-login', {})).json.url
  const browser = async (from = serve) =>
    new PageBrowser(from.base, await useLink(from.base, await link(from)))
  const read = async (headers: Record<string, string>, base = serve.base) => {
    const params = { uri: 'scene://current' }
    const answer = await ask(`${base}/mcp`, {
      method: 'POST',
      headers: { ...statelessHeaders('resources/read', params), ...headers },
      body: JSON.stringify(statelessRequest('resources/read', params)),
    })
    return answer.status
  }
  const listen = async (headers: Record<string, string>) => {
    const notifications = { resourceSubscriptions: ['scene://current'] }
    const method = 'subscriptions/listen'
    const body = JSON.stringify(statelessRequest(method, { notifications }))
    return Events.open(serve.url, { ...statelessHeaders(method), ...headers }, body)
  }

  it('takes a link of the host link, once', async () => {
    const answer = await serve.post('page-login', '', { 'Content-Type': 'text/plain' })
    expect(answer.status).to.equal(201)
    expect(answer.json.expires_in).to.equal(300)
    const { url } = answer.json
    expect(url).to.match(new RegExp(`^${serve.base}/#login=[\\w-]{43}$`))
    expect((await useLink(serve.base, url)).status).to.equal(204)
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
    const token = await (await browser()).token()
    expect(await refused({ Authorization: `Bearer ${token}` })).to.equal(401)
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
    const send = async (body: string, type = 'application/json') => {
      const headers = { ...fromPage(serve.base), 'Content-Type': type }
      return ask(`${serve.base}/page/session`, { method: 'POST', headers, body })
    }
    for (const body of ['', '{}', '{"code":1}', '{"code":"x","more":1}', '{"code":']) {
      expect((await send(body)).status, body).to.equal(400)
    }
    expect((await send('code=x', 'application/x-www-form-urlencoded')).status).to.equal(415)
    expect((await send(JSON.stringify({ code: 'x'.repeat(5000) }))).status).to.equal(413)
  })

  it('sets a cookie that scripts cannot read and that goes to one path', async () => {
    const { headers } = await useLink(serve.base, await link())
    const [written = '', ...more] = headers['set-cookie'] ?? []
    expect(more).to.deep.equal([])
    const [pair = '', ...attributes] = written.split('; ')
    expect(pair).to.match(new RegExp(`^service-page-${serve.port}=[\\w-]{43}$`))
    expect(attributes).to.have.members([
      'Path=/page/session',
      'Max-Age=43200',
      'HttpOnly',
      'SameSite=Strict',
    ])
    expect(headers['cache-control']).to.equal('no-store')
  })

  it('gives tokens for the cookie, with which the page reads what a key reads', async () => {
    const own = await browser()
    const answer = await own.askToken()
    expect(answer.json).to.have.all.keys('token', 'expires_in', 'notes')
    expect(answer.json.expires_in).to.equal(600)
    expect(answer.headers['cache-control']).to.equal('no-store')
    const bearer = { Authorization: `Bearer ${answer.json.token}` }
    expect(await read({})).to.equal(401)
    expect(await read(bearer)).to.equal(200)
    expect(await read({ Authorization: `Bearer ${key}` })).to.equal(200)
    expect(await read({ Authorization: `Bearer ${answer.json.token}x` })).to.equal(401)
    const hex = await serve.store('kept')
    const url = `${serve.base}/artefacts/sha256/${hex}`
    expect((await ask(url)).status).to.equal(401)
    expect((await ask(url, { headers: bearer })).text).to.equal('kept')
    const session = await RawSession.open(serve.url, '2025-11-25', bearer)
    const { clients } = await session.readJson('server://clients')
    expect(clients.map((each: any) => each.principal)).to.include.members(['api-key'])
    expect(clients.some((each: any) => /^page:\d+$/.test(each.principal))).to.equal(true)
  })

  it('makes the cookie worth nothing anywhere but at its path', async () => {
    const { cookie: Cookie } = await browser()
    const own = { Cookie, ...fromPage(serve.base) }
    expect(await read({ Cookie })).to.equal(401)
    expect(await read(own)).to.equal(401)
    const artefact = `${serve.base}/artefacts/sha256/${'a'.repeat(64)}`
    expect((await ask(artefact, { headers: own })).status).to.equal(401)
    const headers = { ...own, 'Content-Type': 'application/json' }
    const body = '{"text":"x"}'
    const answer = await ask(`${serve.base}/page/notes`, { method: 'POST', headers, body })
    expect([answer.status, answer.json.code]).to.deep.equal([401, 'auth-required'])
  })

  const strangers: [name: string, change: (base: string, port: number) => object][] = [
    ['without the header of the page', () => ({ 'Service-Page': undefined })],
    ['of the same site, from another port', () => ({ 'Sec-Fetch-Site': 'same-site' })],
    ['of an address that was typed', () => ({ 'Sec-Fetch-Site': 'none' })],
    ['with the origin of another port', (_, port) => ({ Origin: `http://127.0.0.1:${port + 1}` })],
    ['with the origin null', () => ({ Origin: 'null' })],
    ['with an empty origin', () => ({ Origin: '' })],
  ]
  for (const [name, change] of strangers) {
    it(`refuses requests ${name}`, async () => {
      const own = await browser()
      const url = await link()
      const changed = { ...fromPage(serve.base), ...change(serve.base, serve.port) }
      const headers = Object.fromEntries(
        Object.entries(changed).filter(([, value]) => value !== undefined),
      )
      expect((await useLink(serve.base, url, headers)).status).to.equal(403)
      expect((await own.askToken(headers)).status).to.equal(403)
      const out = await ask(`${serve.base}/page/session`, {
        method: 'DELETE',
        headers: { Cookie: own.cookie, ...headers },
      })
      expect(out.status).to.equal(403)
      for (const refused of [out, await own.askToken(headers)]) {
        expect(refused.headers).not.to.have.any.keys('set-cookie', 'access-control-allow-origin')
      }
      // Neither the link nor the login was used up.
      expect((await useLink(serve.base, url)).status).to.equal(204)
      expect((await own.askToken()).status).to.equal(200)
    })
  }

  it('refuses forms, posts that need no permission, GET and preflights', async () => {
    const { cookie: Cookie } = await browser()
    const other = { Cookie, Origin: `http://127.0.0.1:1`, 'Sec-Fetch-Site': 'same-site' }
    const types = [
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/plain',
    ]
    for (const path of ['/page/session', '/page/session/token']) {
      for (const type of types) {
        const headers = { ...other, 'Content-Type': type }
        const answer = await ask(serve.base + path, { method: 'POST', headers, body: 'code=1' })
        expect(answer.status, `${path} ${type}`).to.equal(403)
      }
      const get = await ask(serve.base + path, { headers: { Cookie, ...fromPage(serve.base) } })
      expect(get.status).to.equal(405)
      const preflight = await ask(serve.base + path, {
        method: 'OPTIONS',
        headers: { ...other, 'Access-Control-Request-Method': 'POST' },
      })
      expect(preflight.status).to.equal(403)
      expect(preflight.headers).not.to.have.property('access-control-allow-origin')
    }
  })

  it('refuses a rebound name, with the right cookie too', async () => {
    const own = await browser()
    for (const host of ['evil.example', `evil.example:${serve.port}`]) {
      const lines = [
        'POST /page/session/token HTTP/1.1',
        `Host: ${host}`,
        `Origin: http://${host}`,
        'Sec-Fetch-Site: same-origin',
        'Service-Page: 1',
        `Cookie: ${own.cookie}`,
        'Content-Length: 0',
      ]
      const answer = await exchange(serve.port, requestText(lines))
      expect(answer?.status, host).to.equal(403)
      expect(answer?.body).not.to.contain('spt_')
    }
  })

  it('keeps CORS away from the pages of --allowed-origin, which may call /mcp', async () => {
    const headers = { ...fromPage(other.base), Origin: allowedOrigin }
    const refused = await useLink(other.base, await link(other), headers)
    expect(refused.status).to.equal(403)
    expect(refused.headers).not.to.have.property('access-control-allow-origin')
  })

  it('asks again when another port has overwritten the cookie, or has added one', async () => {
    const own = await browser()
    const [name] = own.cookie.split('=')
    const url = `${serve.base}/page/session/token`
    const status = async (Cookie: string) =>
      (await ask(url, { method: 'POST', headers: { ...fromPage(serve.base), Cookie } })).status
    expect(await status(`${name}=another`)).to.equal(401)
    expect(await status('')).to.equal(401)
    expect(await status(`service-page-1=${own.cookie.split('=')[1]}`)).to.equal(401)
    expect(await status(`a=b; ${name}=another; ${own.cookie}`)).to.equal(200)
  })

  it('takes the cookie from any program that got it, which reaches nothing of the application', async () => {
    // No header that only browsers send is needed.
    const bare = { 'Service-Page': '1' }
    expect((await useLink(serve.base, await link(), bare)).status).to.equal(204)
    const stolen = await (await browser()).askToken(bare)
    expect(stolen.status).to.equal(200)
    const bearer = { Authorization: `Bearer ${stolen.json.token}` }
    expect(await read(bearer)).to.equal(200)
    const made = await ask(`${serve.hostUrl}/v1/page-login`, { method: 'POST', headers: bearer })
    expect(made.status).to.equal(401)
  })

  it('keeps two servers apart, whose cookies a browser sends to both', async () => {
    const [mine, theirs] = [await browser(), await browser(other)]
    expect(mine.cookie.split('=')[0]).not.to.equal(theirs.cookie.split('=')[0])
    const Cookie = `${mine.cookie}; ${theirs.cookie}`
    const ofMine = await mine.askToken({ ...fromPage(serve.base), Cookie })
    const ofTheirs = await theirs.askToken({ ...fromPage(other.base), Cookie })
    expect([ofMine.status, ofTheirs.status]).to.deep.equal([200, 200])
    expect(await read({ Authorization: `Bearer ${ofMine.json.token}` }, other.base)).to.equal(401)
    expect(await read({ Authorization: `Bearer ${ofTheirs.json.token}` })).to.equal(401)
    const replayed = await theirs.askToken({ ...fromPage(other.base), Cookie: mine.cookie })
    expect(replayed.status).to.equal(401)
    expect((await useLink(other.base, await link())).status).to.equal(403)
  })

  it('is over after a log-out: cookie, tokens and open streams, of that browser alone', async () => {
    const [own, another] = [await browser(), await browser()]
    const [bearer, theirs] = [await own.bearer(), await another.bearer()]
    const session = await RawSession.open(serve.url, '2025-11-25', bearer)
    const streams = [await listen(bearer), await session.listen()]
    const kept = await listen(theirs)
    const out = await own.logOut()
    expect(out.status).to.equal(204)
    expect(out.headers['set-cookie']?.[0]).to.match(/^service-page-\d+=; .*Max-Age=0/)
    for (const stream of streams) await stream.untilEnded()
    expect((await own.askToken()).status).to.equal(401)
    expect(await read(bearer)).to.equal(401)
    expect(await read(theirs)).to.equal(200)
    expect((await own.logOut()).status).to.equal(204)
    const posted = await serve.post('scene', { objects: ['Other'] })
    expect(posted.status).to.equal(200)
    await kept.until(() => kept.messages.length > 1)
    kept.close()
  })

  it('is over when the server stops: the next one knows no cookie and no token', async () => {
    const flags = ['--port', String(await freePort())]
    const first = await serveInProcess({ flags })
    const own = await browser(first)
    const bearer = await own.bearer()
    await first.stop()
    const second = await serveInProcess({ flags })
    try {
      expect(second.base).to.equal(first.base)
      expect((await own.askToken()).status).to.equal(401)
      expect(await read(bearer, second.base)).to.equal(401)
      expect(await read({}, second.base)).to.equal(200)
    } finally {
      await second.stop()
    }
  })

  it('takes a key in place of a link, and counts wrong ones', async () => {
    const own = new PageBrowser(serve.base, await useKey(serve.base, key))
    expect(await read(await own.bearer())).to.equal(200)
    const limited = await serveInProcess({ env: { SERVICE_MCP_API_KEY: key } })
    try {
      const statuses = []
      for (let round = 0; round <= 100; round++) {
        statuses.push((await useKey(limited.base, `${key}${round}`)).status)
      }
      expect(new Set(statuses.slice(0, 100))).to.deep.equal(new Set([401]))
      expect(statuses[100]).to.equal(429)
      const codes = []
      for (let round = 0; round <= 100; round++) {
        const wrong = await useLink(limited.base, `${limited.base}/#login=wrong`)
        codes.push([wrong.status, wrong.headers['retry-after'] !== undefined])
      }
      expect(codes.slice(98)).to.deep.equal([
        [403, false],
        [403, false],
        [429, true],
      ])
      expect((await useKey(limited.base, key)).status, 'the right key').to.equal(204)
      expect((await useLink(limited.base, await link(limited))).status).to.equal(204)
    } finally {
      await limited.stop()
    }
  })

  it('takes no key where none is needed to read', async () => {
    const refused = await useKey(other.base, key)
    expect(refused.status).to.equal(401)
    expect(refused.json.detail).to.contain('has no keys')
    expect(await read({}, other.base)).to.equal(200)
    expect(await read({ Authorization: 'Bearer spt_of-another-run' }, other.base)).to.equal(401)
  })

  it('leaves no secret in log, audit and answers', async () => {
    const url = await link()
    const secrets = [url.split('=')[1] ?? '', key]
    const own = new PageBrowser(serve.base, await useLink(serve.base, url))
    secrets.push(own.cookie.split('=')[1] ?? '', await own.token())
    const again = await useLink(serve.base, url)
    await ask(`${serve.base}/?token=${secrets[3]}`)
    await useKey(serve.base, key)
    await own.post('/page/notes', { text: 'Too bright' })
    const session = await RawSession.open(serve.url, '2025-11-25', await own.bearer())
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
    try {
      const refused = await none.post('page-login', {})
      expect([refused.status, refused.json.code]).to.deep.equal([404, 'resource-not-enabled'])
      for (const path of ['/', '/page/session', '/page/notes']) {
        const answer = await ask(none.base + path, { method: 'POST', headers: postHeaders })
        expect(answer.status, path).to.equal(404)
      }
      expect((await ask(`${none.base}/`)).status).to.equal(404)
    } finally {
      await none.stop()
    }
  })
})
