import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { McpHttpServer } from '../../../src/server/mcp-http-server.ts'
import { atEnd, newFolder } from '../../helpers/cleanup.ts'
import { until } from '../../helpers/until.ts'
import { makePair, writePair } from '../../helpers/certificate.ts'
import {
  type KeyedServer,
  makeKeys,
  startKeyedServer,
  type TestKeys,
} from '../../helpers/keyed-server.ts'
import { ask, RawSession, rpc, startServer } from '../../helpers/mcp.ts'
import { codeOf, fromPage, PageBrowser, useKey, useLink } from '../../helpers/page.ts'
import { listenStateless, statelessPost } from '../../helpers/stateless.ts'

describe('logging in to the page with a key', () => {
  let keys: TestKeys
  let server: KeyedServer

  before(async () => {
    keys = await makeKeys()
    server = await startKeyedServer(keys, { config: { enablePage: true, enableTools: true } })
  })

  const logIn = async (key: string) => new PageBrowser(server.base, await useKey(server.base, key))
  const readDrain = async (headers: Record<string, string>) => {
    const session = await RawSession.open(server.url, '2025-11-25', headers)
    return session.post(rpc('resources/read', { uri: 'events://session/s?drain=true' }))
  }

  it('lets the page do what the key may do, and no more', async () => {
    const [reader, writer] = [
      await logIn(await keys.create('reader', { scope: 'read' })),
      await logIn(await keys.create('writer')),
    ]
    expect((await readDrain(reader.headers)).status).to.equal(403)
    expect((await readDrain(writer.headers)).status).to.equal(200)
    const type = { 'Content-Type': 'text/plain' }
    const refused = await reader.post('/page/artefacts', 'kept', type)
    expect([refused.status, refused.json.code]).to.deep.equal([403, 'request-refused'])
    expect(refused.json.detail).to.contain('may only read')
    expect((await writer.post('/page/artefacts', 'kept', type)).status).to.equal(201)
  })

  it('makes, settles and answers no note with any key, because agents hold keys, too', async () => {
    const writer = await logIn(await keys.create('notes'))
    expect((await writer.ask()).json.notes).to.equal(false)
    for (const path of ['/page/notes', '/page/notes/1/accept', '/page/notes/1/close']) {
      const { status, json } = await writer.post(path, { text: 'mine' })
      expect([status, json.detail]).to.deep.equal([
        403,
        'a login by key makes and settles no notes',
      ])
    }
    const params = { name: 'answer_note', arguments: { id: '1', text: 'done' } }
    const answer = await ask(server.url, statelessPost('tools/call', params, writer.headers))
    expect(answer.json).to.not.have.property('result')
  })

  it('ends with the key: cookie and streams', async () => {
    const [own, other] = [
      await logIn(await keys.create('revoked')),
      await logIn(await keys.create('kept')),
    ]
    const listen = (headers: Record<string, string>) =>
      listenStateless(server.url, { resourcesListChanged: true }, 1, headers)
    const [stream, kept] = [await listen(own.headers), await listen(other.headers)]
    await keys.revoke('revoked')
    await stream.untilEnded()
    expect(await own.isLoggedIn()).to.equal(false)
    const discover = statelessPost('server/discover', {}, own.headers)
    expect((await ask(server.url, discover)).status).to.equal(401)
    expect(await other.isLoggedIn()).to.equal(true)
    expect(kept.ended).to.equal(false)
    kept.close()
  })

  it('lasts no longer than the key', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const login = await useKey(server.base, await keys.create('mortal', { expires_at }))
    const [, age = ''] = /Max-Age=(\d+)/.exec(login.headers['set-cookie']?.[0] ?? '') ?? []
    expect(Number(age)).to.be.within(3500, 3600)
    const soon = new Date(Date.now() + 1000).toISOString()
    const own = await logIn(await keys.create('soon', { expires_at: soon }))
    await until(async () => !(await own.isLoggedIn()), 'the end of the key')
  })

  it('refuses an unknown key', async () => {
    const refused = await useKey(server.base, 'smk_unknown')
    expect([refused.status, refused.json.code]).to.deep.equal([401, 'auth-refused'])
    expect(refused.headers['www-authenticate']).to.equal('Bearer')
    expect(refused.headers).not.to.have.property('set-cookie')
  })

  it('sets a secure cookie over HTTPS, direct or behind a proxy', async () => {
    const folder = newFolder()
    const pair = makePair()
    const tls = await writePair(folder, pair)
    const publicUrl = 'https://studio.example'
    await writeFile(join(folder, 'index.html'), 'the page')
    const secure = await startServer({ enablePage: true, tls }, { page: { folder } })
    const { port } = new URL(secure.url)
    const direct = await ask(`${secure.base}/page/session`, {
      method: 'POST',
      headers: { ...fromPage(secure.base), 'Content-Type': 'application/json' },
      body: JSON.stringify({ code: codeOf(secure.server.pageLoginUrl()) }),
      ca: pair.cert,
    })
    const behind = new McpHttpServer({ enablePage: true, publicUrl }, { page: { folder } })
    const base = `http://127.0.0.1:${(await behind.start()).port}`
    atEnd(() => behind.stop())
    expect(behind.pageLoginUrl()).to.match(/^https:\/\/studio\.example\/#login=/)
    const headers = { ...fromPage(publicUrl), Host: 'studio.example' }
    const proxied = await useLink(base, behind.pageLoginUrl(), headers)
    const pages = [
      await ask(`${secure.base}/`, { ca: pair.cert }),
      await ask(`${base}/`, { headers: { Host: 'studio.example' } }),
    ]
    for (const page of pages) {
      expect(page.status).to.equal(200)
    }
    const cookies = [direct, proxied].map(each => each.headers['set-cookie']?.[0])
    expect(cookies[0]).to.match(new RegExp(`^service-page-${port}=.*; Secure;`))
    expect(cookies[1]).to.match(/^service-page-443=.*; Secure;/)
  })
})
