import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { until } from '../helpers/until.ts'
import { type Visit, newVisit, seriousFaults, startBrowser } from '../helpers/browser.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { callStateless } from '../helpers/stateless.ts'

const hostile = '<img src=x onerror="document.title=1">'

const sceneOf = (x: number, name = 'Lamp') => ({
  schema: 'dcc-scene/1',
  document: { name: 'shot_010.blend' },
  time: { frame: 24 },
  selection: { ids: ['Cube'], active: 'Cube', count: 1 },
  objects: [
    { id: 'Cube', name: 'Cube', type: 'mesh', visible: true, translate: [x, 0, 0] },
    { id: 'Lamp', name, type: 'light', parent: 'Cube', visible: false, translate: [0, 0, 4] },
  ],
})

/** As the browser does when a person turns to another tab. */
function hide(isHidden: boolean): void {
  const { document, Event } = globalThis as any
  Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}

describe('the live page', function () {
  this.timeout(60_000)
  let browser: Browser
  let serve: ServeProcess
  let visit: Visit

  before(async function () {
    browser = await startBrowser(this)
    serve = await startServeProcess()
    await serve.post('scene', sceneOf(0))
    visit = await newVisit(browser)
  })
  after(async () => {
    await browser?.close()
    await serve?.stop()
  })

  const read = async (uri: string) => {
    const { json } = await callStateless(serve.url, 'resources/read', { uri })
    return JSON.parse(json.result.contents[0].text)
  }
  const link = async () => {
    const { json } = await serve.post('page-login', {})
    return String(json.url)
  }

  it('says what the AI can see, and what changes, in words', async () => {
    const { page } = visit
    await visit.open(`${serve.base}/`)
    await page.getByRole('heading', { name: 'Your AI can see shot_010.blend' }).waitFor()
    await page.getByText('2 objects · frame 24 · Cube selected').waitFor()
    await page.getByText('Nothing since you opened this view.').waitFor()
    await serve.post('scene', sceneOf(0.5))
    await page.getByText('Cube moved 0.50 along x').waitFor()
  })

  it('tells which clients look, and never counts itself', async () => {
    const { page } = visit
    await callStateless(serve.url, 'resources/read', { uri: 'scene://current' })
    const clients = page.locator('.clients li')
    await clients.filter({ hasText: 'read the scene' }).waitFor()
    expect(await clients.count()).to.equal(1)
    await page.getByRole('link', { name: 'Connect', exact: true }).click()
    await page.getByText('claude mcp add --scope user').first().waitFor({ state: 'attached' })
    const entry = page.locator('summary', { hasText: 'Codex' })
    await entry.getByText('not connected').waitFor()
    const codex = new Client({ name: 'codex-mcp-client', version: '1' })
    await codex.connect(new StreamableHTTPClientTransport(new URL(serve.url)))
    await codex.listTools()
    await entry.getByText('✓ listed tools').waitFor()
    await codex.close()
  })

  it('is reached by the keyboard from the address bar on', async () => {
    const { page } = visit
    await page.goto(`${serve.base}/#/now`)
    await page.reload()
    await page.locator('.connection.live').waitFor()
    const focused: string[] = []
    for (let step = 0; step < 8 && focused.at(-1) !== 'Files'; step++) {
      await page.keyboard.press('Tab')
      focused.push(await page.evaluate<string>('document.activeElement.textContent'))
    }
    expect(focused).to.deep.equal(['Skip to content', 'Now', 'Scene', 'Notes', 'Files'])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Files', exact: true }).waitFor()
  })

  it('has no stream while its tab is hidden', async () => {
    const { page } = visit
    const streams = async () => {
      const { clients } = await read('server://clients')
      return clients.find(({ name }: any) => name === 'service-page').streams
    }
    await page.evaluate(hide, true)
    await until(async () => (await streams()) === 0, 'the end of the stream')
    await page.getByText('Connecting').waitFor()
    await page.evaluate(hide, false)
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await streams()).to.equal(1)
  })

  it('shows objects as a tree that the keyboard walks, and marks what changed', async () => {
    const { page } = visit
    await page.getByRole('link', { name: 'Scene', exact: true }).click()
    const tree = page.getByRole('tree')
    await tree.focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.getByRole('heading', { name: 'Lamp' }).waitFor()
    await page.getByText('0, 0, 4').waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.getByRole('heading', { name: 'Cube' }).waitFor()
    await page.keyboard.press('ArrowLeft')
    await expectRows(['Cube'])
    await serve.post('scene', { ...sceneOf(3), objects: sceneOf(3).objects.slice(0, 1) })
    await page.getByText('3, 0, 0').waitFor()
    await page.locator('.row.new', { hasText: 'changed' }).waitFor()
    await serve.post('scene', sceneOf(3))
    await page.getByRole('treeitem', { expanded: false }).waitFor()
    await page.keyboard.press('ArrowRight')
    await expectRows(['Cube', 'Lamp'])
  })

  async function expectRows(names: readonly string[]): Promise<void> {
    expect(await visit.page.locator('.row .name').allTextContents()).to.deep.equal(names)
  }

  it('shows what a document contains as text, whatever it is', async () => {
    const { page } = visit
    await serve.post('scene', sceneOf(3, hostile))
    await page.locator('.row .name', { hasText: hostile }).waitFor()
    await serve.store('body', `?display_name=${encodeURIComponent(hostile)}`, 'text/html')
    await serve.post('notes', { text: hostile, author: hostile, targets: [hostile] })
    for (const [screen, selector] of [
      ['files', '.card strong'],
      ['notes', '.said'],
    ] as const) {
      await page.goto(`${serve.base}/#/${screen}`)
      await page.locator(selector, { hasText: hostile }).first().waitFor()
    }
    expect(await page.title()).to.equal('service-cli')
    expect(visit.requests.filter(address => !address.startsWith(serve.base))).to.deep.equal([])
    expect(visit.complaints).to.deep.equal([])
  })

  it('lets a person in by a link that works once, and leaves no secret behind', async () => {
    const { page } = visit
    const address = await link()
    await visit.open(address)
    expect(page.url()).to.equal(`${serve.base}/`)
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.getByLabel('New note').waitFor()
    const code = new URLSearchParams(new URL(address).hash.slice(1)).get('login')!
    const left = await page.evaluate<string>(
      'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])',
    )
    expect(left).not.to.match(/spt_/)
    expect(left).not.to.include(code)
    expect(visit.requests.join()).not.to.include(code)
    await page.reload()
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.getByLabel('New note').waitFor()

    const other = await newVisit(browser)
    await other.open(address)
    await other.page.getByText('The link does not work').waitFor()
    await other.page.getByRole('link', { name: 'Notes' }).click()
    await other.page.getByText('To make notes, log in').waitFor()
    await other.context.close()
  })

  it('makes notes, and settles what an agent has answered', async () => {
    const { page } = visit
    await page.getByLabel('New note').fill('Make the lamp warmer')
    await page.getByRole('button', { name: 'Make a note' }).click()
    await page.locator('.list .text', { hasText: 'warmer' }).waitFor()
    const { notes } = await read('notes://open')
    const { id, author } = notes.find(({ text }: any) => text === 'Make the lamp warmer')
    expect(author).to.equal('page')
    await serve.post(`notes/${id}/answer`, { text: 'It is warmer now', by: 'agent' })
    await page.getByText('1 answered, your turn').waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'warmer' }).click()
    await page.getByText('It is warmer now').waitFor()
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByRole('heading', { name: 'accepted' }).waitFor()
    expect((await read(`notes://${id}`)).state).to.equal('accepted')
    const { entries } = await read('audit://recent')
    expect(entries.at(-1)).to.include({ action: 'note.accept', actor: 'page' })
  })

  it('stores files that are dropped on it', async () => {
    const { page } = visit
    await page.getByRole('link', { name: 'Files' }).click()
    const buffer = Buffer.from('warm light, please')
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'brief.txt', mimeType: 'text/plain', buffer })
    await page.getByText('brief.txt is stored.').waitFor()
    const card = page.locator('.card', { hasText: 'brief.txt' })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      card.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(download.suggestedFilename()).to.equal('brief.txt')
    const { json } = await callStateless(serve.url, 'resources/list')
    const { uri } = json.result.resources.find(({ name }: any) => name === 'brief.txt')
    const answer = await callStateless(serve.url, 'resources/read', { uri })
    expect(answer.json.result.contents[0].blob).to.equal(buffer.toString('base64'))
  })

  it('logs out', async () => {
    const leaving = await newVisit(browser)
    const { page } = leaving
    await leaving.open(await link())
    await page.getByRole('link', { name: 'Files' }).click()
    await page.getByRole('button', { name: 'Choose files' }).waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('To add files for your AI, log in').waitFor()
    await page.reload()
    await page.getByText('To add files for your AI, log in').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await leaving.context.close()
  })

  it('gives nothing to a page of another origin, nor to a frame around it', async () => {
    const foreign = createServer((_, res) => {
      res.writeHead(200, { 'Content-Type': 'text/html' })
      res.end(`<iframe src="${serve.base}/"></iframe>`)
    })
    await once(foreign.listen(0, '127.0.0.1'), 'listening')
    const { port } = foreign.address() as AddressInfo
    const other = await newVisit(browser)
    const { page } = other
    // Another name: a browser counts it as another site.
    await page.goto(`http://localhost:${port}/`)
    expect(page.frames().map(frame => frame.url())).to.include('chrome-error://chromewebdata/')
    const tried = await page.evaluate<string[]>(`Promise.all([
      ['/mcp', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }],
      ['/page/session', { method: 'POST', headers: { 'Service-Page': '1' }, credentials: 'include' }],
      ['/', {}],
    ].map(([path, init]) => fetch('${serve.base}' + path, init).then(({ type, status }) =>
      type + status, () => 'failed')))`)
    expect(tried).to.deep.equal(['failed', 'failed', 'failed'])
    await other.context.close()
    foreign.close()
  })

  const looks = (['light', 'dark'] as const).flatMap(colorScheme =>
    [360, 1280, 2560].map(width => ({ colorScheme, width })),
  )
  for (const { colorScheme, width } of looks) {
    it(`can be used by everybody, in ${colorScheme} colours at ${width} pixels`, async () => {
      const viewport = { width, height: 800 }
      const looking = await newVisit(browser, { colorScheme, viewport })
      await looking.open(await link())
      for (const screen of ['now', 'scene', 'notes', 'files', 'connect']) {
        await looking.page.goto(`${serve.base}/#/${screen}`)
        await looking.page.locator(`nav a[aria-current=page][href="#/${screen}"]`).waitFor()
        if (screen === 'scene') await looking.page.locator('.row').first().click()
        expect(await seriousFaults(looking.page), screen).to.deep.equal([])
        const isWide = 'document.documentElement.scrollWidth > innerWidth'
        expect(await looking.page.evaluate(isWide), `${screen} scrolls sideways`).to.equal(false)
      }
      expect(looking.complaints).to.deep.equal([])
      await looking.context.close()
    })
  }

  it('is at most 50 KB, compressed', async () => {
    const looking = await newVisit(browser)
    await looking.open(`${serve.base}/`)
    let bytes = 0
    for (const address of new Set(looking.requests)) {
      if (address.endsWith('/mcp') || address.includes('/page/session')) continue
      bytes += gzipSync(Buffer.from(await (await fetch(address)).arrayBuffer())).length
    }
    expect(bytes).to.be.above(10_000).and.below(50_000)
    await looking.context.close()
  })

  it('says when the connection is lost, and shows the present once it is back', async () => {
    const { page } = visit
    await page.getByRole('link', { name: 'Now' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    const { port } = serve
    await serve.stop()
    await page.getByText('Connection lost', { exact: true }).waitFor()
    await page.getByText('What you see is from before').waitFor()
    serve = await startServeProcess({ flags: ['--port', String(port)] })
    await serve.post('scene', { ...sceneOf(0), document: { name: 'shot_020.blend' } })
    await page.getByRole('heading', { name: 'Your AI can see shot_020.blend' }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
  })
})
