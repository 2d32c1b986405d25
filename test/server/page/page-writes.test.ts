import { expect } from 'chai'
import { createHash } from 'node:crypto'
import { ask, Events } from '../../helpers/mcp.ts'
import { PageBrowser, useKey, useLink } from '../../helpers/page.ts'
import { callStateless, listenStateless } from '../../helpers/stateless.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

describe('notes and uploads of the page', () => {
  let serve: RunningServe
  let browser: PageBrowser

  const logIn = async (from: RunningServe) =>
    new PageBrowser(
      from.base,
      await useLink(from.base, (await from.post('page-login', {})).json.url),
    )
  const read = async (uri: string) => {
    const { json } = await callStateless(serve.url, 'resources/read', { uri })
    return JSON.parse(json.result.contents[0].text)
  }

  before(async () => {
    // No key: reading needs no login, writing does.
    serve = await serveInProcess()
    browser = await logIn(serve)
  })

  const text = { 'Content-Type': 'text/plain' }

  it('makes notes that agents are told of, and the audit names', async () => {
    const listener: Events = await listenStateless(serve.url, {
      resourceSubscriptions: ['notes://open'],
    })
    const made = await browser.post('/page/notes', {
      text: 'Too bright',
      targets: [{ id: 'Lamp', name: 'Lamp' }],
    })
    expect(made.status).to.equal(200)
    expect(made.json.ok).to.equal(true)
    expect(made.json.note).to.include({ text: 'Too bright', author: 'page', state: 'open' })
    await listener.until(() => listener.updates.includes('notes://open'))
    listener.close()
    const { id, number } = made.json.note
    const { notes } = await read('notes://open')
    expect(notes[0]).to.include({ id, text: 'Too bright', author: 'page' })
    const { entries } = await read('audit://recent')
    const entry = entries.find((each: any) => each.action === 'note.add')
    expect(entry).to.deep.include({ actor: 'page', params: { id, number } })
    const named = await browser.post('/page/notes', { text: 'And cold', author: 'ada' })
    expect(named.json.note.author).to.equal('ada')
  })

  it('accepts, reopens and closes a note, and answers none', async () => {
    const { id } = (await browser.post('/page/notes', { text: 'Too dark' })).json.note
    const act = (action: string, body: object = {}) =>
      browser.post(`/page/notes/${id}/${action}`, body)
    const answered = await act('answer', { text: 'done' })
    expect([answered.status, answered.json.code]).to.deep.equal([403, 'request-refused'])
    expect((await act('accept')).status, 'before an answer').to.equal(409)
    await serve.post(`notes/${id}/answer`, { text: 'brighter now', by: 'agent' })
    const accepted = await act('accept')
    expect([accepted.status, accepted.json.note.state]).to.deep.equal([200, 'accepted'])
    expect((await act('reopen', { text: 'still dark' })).json.note.state).to.equal('reopened')
    expect((await act('close')).json.note.state).to.equal('closed')
    const { entries } = await read(`notes://${id}`)
    expect(entries.map(({ action, by }: any) => [action, by])).to.deep.equal([
      ['answer', 'agent'],
      ['accept', 'page'],
      ['reopen', 'page'],
      ['close', 'page'],
    ])
    expect((await browser.post('/page/notes', 'no JSON')).status).to.equal(400)
  })

  it('stores uploads as artefacts that clients read', async () => {
    const bytes = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')
    const path = `/page/artefacts?display_name=${encodeURIComponent('a drawing.svg')}`
    const type = { 'Content-Type': 'image/svg+xml' }
    const stored = await browser.post(path, bytes, type)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const uri = `artefact://sha256/${sha256}`
    expect(stored.status).to.equal(201)
    expect(stored.json).to.deep.equal({ uri, sha256, existed: false })
    expect((await browser.post(path, bytes, type)).json.existed).to.equal(true)
    const { json } = await callStateless(serve.url, 'resources/read', { uri })
    expect(Buffer.from(json.result.contents[0].blob, 'base64').equals(bytes)).to.equal(true)
    const sent = await ask(`${serve.base}/artefacts/sha256/${sha256}`)
    expect(sent.headers['content-security-policy']).to.contain('sandbox')
    expect(sent.headers['content-disposition']).to.contain('attachment; filename="a drawing.svg"')
    const unnamed = '/page/artefacts?display_name='
    expect((await browser.post(unnamed, 'x', text)).status).to.equal(400)
  })

  it('need a login, on a server without a key too, and an address of the page itself', async () => {
    const post = (path: string, headers: Record<string, string>) =>
      ask(serve.base + path, { method: 'POST', headers, body: '{"text":"x"}' })
    const before = (await read('notes://all')).notes.length
    const { Cookie: _, ...bare } = browser.headers
    for (const path of ['/page/notes', '/page/notes/1/close', '/page/artefacts']) {
      const missing = await post(path, bare)
      expect([missing.status, missing.headers['www-authenticate']]).to.deep.equal([401, 'Bearer'])
      const byToken = await post(path, { ...bare, Authorization: `Bearer ${serve.token}` })
      expect([byToken.status, byToken.json.code], path).to.deep.equal([401, 'auth-required'])
      for (const [name, value] of [
        ['Origin', 'null'],
        ['Sec-Fetch-Site', 'same-site'],
        ['Service-Page', '0'],
      ] as const) {
        const refused = await post(path, { ...browser.headers, [name]: value })
        expect(refused.status, name).to.equal(403)
      }
      const get = await ask(serve.base + path, { headers: browser.headers })
      expect(get.status).to.equal(405)
    }
    expect((await read('notes://all')).notes.length).to.equal(before)
    const { entries } = await read('audit://recent')
    const refusals = entries.filter((each: any) => each.action === 'http.request')
    expect(refusals[0]).to.include({ actor: '127.0.0.1' })
    expect(JSON.stringify(entries)).not.to.contain(serve.token)
  })

  it('are answered 404 where notes and artefacts are switched off, after the checks', async () => {
    const flags = ['--no-notes', '--no-artefacts', '--auth', 'oauth']
    const issuer = ['--oauth-issuer', 'http://127.0.0.1:1']
    const none = await serveInProcess({ flags: [...flags, ...issuer] })
    const own = await logIn(none)
    for (const path of ['/page/notes', '/page/artefacts']) {
      const answer = await own.post(path, { text: 'x' })
      expect([answer.status, answer.json.code], path).to.deep.equal([404, 'resource-not-enabled'])
    }
    const refused = await useKey(none.base, 'a-token')
    expect(refused.status).to.equal(401)
    expect(refused.json.detail).to.contain('takes no keys')
  })
})
