import { expect } from 'chai'
import { createServer } from 'node:http'
import type { Browser } from 'playwright-core'
import { newTab, newVisit, startBrowser, type Visit } from '../helpers/browser.ts'
import { PageBrowser } from '../helpers/page.ts'
import { ask } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { callStateless } from '../helpers/stateless.ts'
import { listening } from '../helpers/listening.ts'

describe('the live page beside pages of others', function () {
  this.timeout(60_000)
  let browser: Browser
  let serve: ServeProcess
  let visit: Visit
  let tab: Visit
  let origin: string
  const cookies: string[] = []

  before(async function () {
    browser = await startBrowser(this)
    serve = await startServeProcess()
    await serve.post('scene', { objects: ['Cube'] })
    // Another program on this machine, whose pages count as those of the same site.
    const foreign = createServer((req, res) => {
      cookies.push(req.headers.cookie ?? '')
      res.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>foreign</title>')
    })
    origin = `http://127.0.0.1:${await listening(foreign)}`
    visit = await newVisit(browser)
    const { json } = await serve.post('page-login', {})
    await visit.open(json.url)
    tab = await newTab(visit)
    await tab.page.goto(`${origin}/`)
  })

  const isUnharmed = async () => {
    const { page } = visit
    await page.bringToFront()
    await page.reload()
    await page.getByRole('button', { name: 'Log out' }).waitFor()
    const { json } = await callStateless(serve.url, 'resources/read', { uri: 'notes://all' })
    expect(JSON.parse(json.result.contents[0].text).notes).to.deep.equal([])
  }

  it('does nothing that it asks for, with all that a browser can send', async () => {
    const answers = await tab.page.evaluate<string[]>(`Promise.all([
      ['DELETE', '/page/session'], ['POST', '/page/session'],
      ['POST', '/page/notes'], ['POST', '/page/artefacts'], ['POST', '/mcp'], ['GET', '/mcp'],
      ['GET', '/page/app.js'], ['GET', '/'], ['POST', '/host/v1/page-login'],
    ].flatMap(([method, path]) => [{}, { mode: 'no-cors' }, { headers: { 'Service-Page': '1' } }].map(
      init => fetch('${serve.base}' + path, {
        method, credentials: 'include', ...(method === 'POST' && { body: '{"text":"x"}' }), ...init,
      }).then(async answer => answer.type + answer.status + await answer.text(), () => 'failed'),
    )))`)
    // No answer can be read: "opaque" is an answer that the browser keeps to itself.
    expect(new Set(answers)).to.deep.equal(new Set(['failed', 'opaque0']))
    await isUnharmed()
  })

  it('keeps a page that opened it from seeing it, and from logging it out by its address', async () => {
    const [opened] = await Promise.all([
      tab.context.waitForEvent('page'),
      tab.page.evaluate(`void (globalThis.opened = open('${serve.base}/'))`),
    ])
    await opened.getByRole('button', { name: 'Log out' }).waitFor()
    const seen = await tab.page.evaluate<string>(
      `(() => { try { return opened.document.title } catch (error) { return error.name } })()`,
    )
    expect(seen).to.equal('SecurityError')
    await tab.page.evaluate(`void (opened.location = '${serve.base}/#login=guessed')`)
    await opened.waitForURL(`${serve.base}/`)
    await opened.getByRole('button', { name: 'Log out' }).waitFor()
    await opened.close()
    await isUnharmed()
  })

  it('gives a program that got the cookie what the browser may do, until the log-out', async () => {
    // Browsers send it to every port of the host.
    await tab.page.goto(`${origin}/anything`)
    const stolen = cookies.at(-1) ?? ''
    expect(stolen).to.match(/^service-page-\d+=/)
    const thief = new PageBrowser(serve.base, {
      ...(await ask(serve.base)),
      status: 200,
      headers: { 'set-cookie': [stolen] },
    })
    expect(await thief.isLoggedIn()).to.equal(true)
    await visit.page.getByRole('button', { name: 'Log out' }).click()
    await visit.page.getByRole('button', { name: 'Log out' }).waitFor({ state: 'detached' })
    expect(await thief.isLoggedIn()).to.equal(false)
  })

  it('gives nothing to a page of another site, nor to a frame around it', async () => {
    const other = await newVisit(browser)
    const { page } = other
    // Another name: a browser counts it as another site.
    await page.goto(`http://localhost:${new URL(origin).port}/`)
    await page.setContent(`<iframe src="${serve.base}/"></iframe>`)
    expect(page.frames().map(frame => frame.url())).to.include('chrome-error://chromewebdata/')
    const tried = await page.evaluate<string[]>(`Promise.all([
      ['/mcp', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }],
      ['/page/session', { method: 'POST', headers: { 'Service-Page': '1' }, credentials: 'include' }],
      ['/', {}],
    ].map(([path, init]) => fetch('${serve.base}' + path, init).then(({ type, status }) =>
      type + status, () => 'failed')))`)
    expect(tried).to.deep.equal(['failed', 'failed', 'failed'])
  })
})
