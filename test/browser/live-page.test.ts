import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { callStateless } from '../helpers/stateless.ts'
import { until } from '../helpers/until.ts'
import { newVisit, accessFaults, startBrowser, type Visit } from '../helpers/browser.ts'
import { startGatewayProcess } from '../helpers/gateway-process.ts'
import { freePort } from '../helpers/free-port.ts'
import { LinkClient } from '../helpers/link.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

const hostile = '<img src=x onerror="document.title=1">'

const sceneOf = (x: number, { lamp = 'Lamp', document = 'shot_010.blend' } = {}) => ({
  schema: 'dcc-scene/1',
  document: { name: document },
  time: { frame: 24 },
  selection: { ids: ['Cube'], active: 'Cube', count: 1 },
  objects: [
    { id: 'Cube', name: 'Cube', type: 'mesh', visible: true, translate: [x, 0, 0] },
    { id: 'Lamp', name: lamp, type: 'light', parent: 'Cube', visible: false, translate: [0, 0, 4] },
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
    browser = await startBrowser(this, ['--host-resolver-rules=MAP studio.test 127.0.0.1'])
    serve = await startServeProcess()
    visit = await newVisit(browser)
  })

  const connect = async (name: string, version: string) => {
    const client = new Client({ name, version })
    await client.connect(new StreamableHTTPClientTransport(new URL(serve.url)))
    return client
  }
  const sees = (page: Page, document = 'shot_010.blend') =>
    page.getByRole('heading', { name: `Your AI can see ${document}` }).waitFor()

  it('says in plain words that no scene has come, what is in it, and that it is withdrawn', async () => {
    const { page } = visit
    await visit.open(`${serve.base}/`)
    await page.getByText('No scene is shared. The next one appears here by itself.').waitFor()
    await page.getByText('No scene', { exact: true }).waitFor()
    expect(await page.getByText('Live', { exact: true }).count()).to.equal(0)
    const form = { shots: ['010'], camera: null, objects: ['Cube'], frame: 1 }
    await serve.post('scene', form)
    await sees(page, 'a scene without a document')
    await serve.post('scene', { ...form, objects: ['Cube', 'Lamp'] })
    await page.getByText('objects: Lamp added').waitFor()
    await serve.post('scene', 'null')
    await page.getByText('No scene is shared.').waitFor()
    await page.locator('.changes').getByText('The scene was withdrawn').waitFor()
    expect(await page.locator('main').textContent()).not.to.contain('://')
    await page.getByRole('link', { name: 'Scene' }).click()
    await page.getByText('No scene is shared.').waitFor()
    await serve.post('scene', sceneOf(0))
    await page.getByRole('treeitem', { name: 'Cube' }).waitFor()
    await page.getByRole('link', { name: 'Now' }).click()
    await page.locator('.changes li').first().getByText('The scene came').waitFor()
  })

  it('tells a server that started again from a scene that was withdrawn', async () => {
    const flags = ['--port', String(await freePort())]
    const first = await startServeProcess({ flags })
    const { page, open } = await newVisit(browser)
    await first.post('scene', sceneOf(0))
    await open(`${first.base}/`)
    await sees(page)
    await first.stop()
    await startServeProcess({ flags })
    const changes = page.locator('.changes')
    await changes.getByText('The server started again, without a scene').waitFor()
    expect(await changes.getByText('withdrawn').count()).to.equal(0)
  })

  it('says who has left with its scene, and since when', async () => {
    const left = await startServeProcess()
    const { page, open } = await newVisit(browser)
    const app = await LinkClient.connect(left, { document: { name: 'a.blend' } })
    await app.done({ type: 'scene.set', scene: sceneOf(0) })
    // The clock of the browser is an hour off.
    await page.clock.setSystemTime(Date.now() + 3_600_000)
    await open((await left.post('page-login', {})).json.url)
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.getByLabel('New note').waitFor()
    app.say({ type: 'bye', clear: true })
    await page.getByRole('heading', { name: 'No document is shared' }).waitFor()
    expect(await page.getByLabel('New note').count()).to.equal(0)
    await page.getByRole('link', { name: 'Now' }).click()
    await page.getByRole('heading', { name: 'No application is connected' }).waitFor()
    await page.getByText(/^Blender left (just now|\d+ s ago)\. No scene is shared\./).waitFor()
    expect(await page.getByText('Write the add-on').count()).to.equal(0)
  })

  it('says what the AI can see, and what changes, in words', async () => {
    const { page } = visit
    await serve.post('scene', sceneOf(0))
    await page.reload()
    await sees(page)
    await page.getByText('2 objects · frame 24 · Cube selected').waitFor()
    await page.getByText('Nothing since you opened this view.').waitFor()
    await serve.post('scene', sceneOf(0.5))
    await page.getByText('Cube moved 0.50 along x').waitFor()
    // The active object need not be selected.
    const selection = { ids: ['Lamp'], active: 'Cube', count: 1 }
    await serve.post('scene', { ...sceneOf(0.5), selection })
    await page.getByText('2 objects · frame 24 · Lamp selected').waitFor()
    await page.locator('.changes').getByText('selection: Lamp').waitFor()
  })

  it('tells which clients look, and never counts itself', async () => {
    const { page } = visit
    await callStateless(serve.url, 'resources/read', { uri: 'scene://current' })
    const clients = page.locator('.clients li')
    await clients.filter({ hasText: 'read the scene' }).waitFor()
    expect(await clients.count()).to.equal(1)
    const alike = await Promise.all(['1', '2'].map(version => connect('alike', version)))
    await clients.filter({ hasText: 'alike2 connected' }).waitFor()
    expect(await clients.count()).to.equal(2)
    await Promise.all(alike.map(client => client.close()))
    await page.getByRole('link', { name: 'Connect', exact: true }).click()
    await page.getByText('claude mcp add --scope user').first().waitFor({ state: 'attached' })
    const entry = page.locator('summary', { hasText: 'Codex' })
    await entry.getByText('not connected').waitFor()
    // A client of any other name may be one of these.
    const others = page.locator('summary', { hasText: 'other clients' })
    expect(await others.textContent()).to.equal('other clients ')
    const codex = await connect('codex-mcp-client', '1')
    await codex.readResource({ uri: 'scene://current' })
    await entry.getByText('✓ read the scene').waitFor()
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
      const text = await (await fetch(`${serve.base}/metrics`)).text()
      return Number(/^service_cli_streams (\d+)/m.exec(text)?.[1])
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
    await serve.post('scene', sceneOf(3, { lamp: hostile }))
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

  it('shows a scene of any other form, level by level', async () => {
    const { page } = visit
    await serve.post('scene', { shots: ['010', '020'], camera: { lens: 35 } })
    await page.goto(`${serve.base}/#/scene`)
    await page.reload()
    await page.getByRole('button', { name: 'shots array: 2 items' }).click()
    await page.getByText('020').waitFor()
    await page.getByRole('button', { name: 'camera' }).click()
    await page.getByText('35').waitFor()
    // The one of the README: its objects have no ids.
    await serve.post('scene', { objects: ['Cube', null] })
    await page.reload()
    await page.getByRole('button', { name: 'objects array: 2 items' }).click()
    await page.getByText('Cube').waitFor()
  })

  it('reads such a scene again after it could not be read', async () => {
    const { page, open } = await newVisit(browser)
    await serve.post('scene', { objects: ['Cube', null] })
    let isLost = true
    await page.route('**/mcp', async route => {
      const isScene = route.request().postData()?.includes('"uri":"scene://current"') === true
      await (isLost && isScene ? route.abort() : route.continue())
    })
    await open(`${serve.base}/#/scene`)
    const outline = page.locator('.outline')
    await outline.getByText('the server cannot be reached').waitFor()
    isLost = false
    await outline.getByRole('button', { name: 'objects array: 2 items' }).waitFor()
    expect(await outline.getByText('the server cannot be reached').count()).to.equal(0)
  })

  it('copies commands, also over plain HTTP under a name', async () => {
    const named = await startServeProcess({ flags: ['--allowed-host', 'studio.test'] })
    const { page } = await newVisit(browser)
    await page.goto(`http://studio.test:${named.port}/`)
    expect(await page.evaluate('isSecureContext')).to.equal(false)
    await page.getByRole('button', { name: 'Copy: Command that writes the add-on' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    // Such a browser says where a post comes from in Origin alone.
    const { url } = (await named.post('page-login', {})).json
    await page.goto(`http://studio.test:${named.port}/#${new URL(url).hash.slice(1)}`)
    await page.getByRole('button', { name: 'Log out' }).waitFor()
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.getByLabel('New note').fill('By a name')
    await page.getByRole('button', { name: 'Make a note' }).click()
    await page.locator('.said', { hasText: 'By a name' }).waitFor()
  })

  it('lists the instances of a gateway with what is known of them, and links to their pages', async () => {
    const gateway = startGatewayProcess({ port: 0, registryDir: serve.registryDir })
    const { url } = await gateway.line('listening')
    const { page, open } = await newVisit(browser)
    await open(new URL('/', url).href)
    const card = page.locator('.card')
    await card.getByText('a scene posted by a program').waitFor()
    await card.getByText('available', { exact: true }).waitFor()
    expect(await card.textContent()).not.to.match(/heartbeat|unknown,/)
    expect(await accessFaults(page)).to.deep.equal([])
    await serve.post('scene', 'null')
    await card.getByText('no application connected').waitFor()
    await serve.post('scene', sceneOf(0))
    await card.getByRole('link', { name: 'Open its page' }).click()
    await sees(page)
    expect(new URL(page.url()).port).to.equal(String(serve.port))
  })

  for (const [colorScheme, width] of [
    ['light', 360],
    ['dark', 1280],
  ] as const) {
    it(`can be used by everybody, in ${colorScheme} colours at ${width} pixels`, async () => {
      const viewport = { width, height: 800 }
      const looking = await newVisit(browser, { colorScheme, viewport })
      const { json } = await serve.post('page-login', {})
      await looking.open(json.url)
      for (const screen of ['now', 'scene', 'notes', 'files', 'connect']) {
        await looking.page.goto(`${serve.base}/#/${screen}`)
        await looking.page.locator(`nav a[aria-current=page][href="#/${screen}"]`).waitFor()
        if (screen === 'scene') await looking.page.locator('.row').first().click()
        if (screen === 'connect') await looking.page.locator('summary').first().click()
        expect(await accessFaults(looking.page), screen).to.deep.equal([])
        const isWide = 'document.documentElement.scrollWidth > innerWidth'
        expect(await looking.page.evaluate(isWide), `${screen} scrolls sideways`).to.equal(false)
      }
      expect(looking.complaints).to.deep.equal([])
    })
  }

  it('can be used by everybody while there is nothing to show', async () => {
    const empty = await startServeProcess()
    const { page, open } = await newVisit(browser, { viewport: { width: 360, height: 740 } })
    for (const [screen, title] of [
      ['now', 'No application is connected'],
      ['scene', 'No application is connected'],
      ['notes', 'No note in this document yet'],
      ['files', 'No files yet'],
    ] as const) {
      await open(`${empty.base}/#/${screen}`)
      await page.getByRole('heading', { name: title }).waitFor()
      expect(await accessFaults(page), screen).to.deep.equal([])
    }
  })

  it('is at most 50 KB, compressed', async () => {
    const looking = await newVisit(browser)
    await looking.open(`${serve.base}/`)
    let bytes = 0
    for (const address of new Set(looking.requests)) {
      if (address.endsWith('/mcp') || address.includes('/page/session')) continue
      bytes += gzipSync(Buffer.from(await (await fetch(address)).arrayBuffer())).length
    }
    expect(bytes).to.be.above(10_000).and.below(50_000)
  })

  it('shows no screen before it knows which ones the server has', async () => {
    const { page } = await newVisit(browser)
    const held = Promise.withResolvers<void>()
    await page.route('**/mcp', async route => {
      if (route.request().postData()?.includes('resources/templates/list') === true) {
        await held.promise
      }
      await route.continue()
    })
    await page.goto(`${serve.base}/`)
    await page.getByRole('heading', { name: 'Connecting …' }).waitFor()
    expect(await page.getByRole('navigation').getByRole('link').count()).to.equal(0)
    held.resolve()
    await sees(page)
  })

  it('stays of use with 100,000 objects, in chains and with hostile names', async () => {
    const hostile = `\u202e${'<b>&amp;'.repeat(500)}`
    const objects = Array.from({ length: 100_000 }, (_, at) => ({
      id: `O${at}`,
      name: at === 1 ? hostile : `Object ${at}`,
      type: at === 2 ? '__proto__' : 'mesh',
      ...(at > 0 && at < 15_000 && { parent: `O${at - 1}` }),
    }))
    await serve.post('scene', { ...sceneOf(0), objects })
    const { page, open, complaints } = await newVisit(browser)
    await open(`${serve.base}/#/scene`)
    await page.getByPlaceholder('Search 100000 objects').waitFor()
    const tree = page.getByRole('tree')
    await tree.focus()
    await page.keyboard.press('End')
    await page.getByRole('heading', { name: 'Object 99999' }).waitFor()
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    await page.getByRole('heading', { name: '<b>&amp;<b>' }).waitFor()
    const isWide = 'document.documentElement.scrollWidth > innerWidth'
    expect(await page.evaluate(isWide)).to.equal(false)
    await page.getByRole('searchbox').fill('Object 54321')
    await page.getByRole('treeitem', { name: 'Object 54321' }).click()
    await page.getByRole('heading', { name: 'Object 54321' }).waitFor()
    expect(complaints).to.deep.equal([])
  })

  it('says when the connection is lost, and shows the present once it is back', async () => {
    const { page } = visit
    await page.goto(`${serve.base}/#/now`)
    await page.getByText('Live', { exact: true }).waitFor()
    serve.signal('SIGKILL')
    await page.getByText('Connection lost', { exact: true }).waitFor()
    await page.getByText('What you see is from before').waitFor()
    const { port } = serve
    await serve.stop()
    serve = await startServeProcess({ flags: ['--port', String(port)] })
    await serve.post('scene', sceneOf(0, { document: 'after.blend' }))
    await sees(page, 'after.blend')
    await page.getByText('Live', { exact: true }).waitFor()
  })
})
