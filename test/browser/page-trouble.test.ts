import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { newTab, newVisit, startBrowser } from '../helpers/browser.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

const scene = (x: number, name = 'shot_010.blend') => ({
  schema: 'dcc-scene/1',
  document: { name },
  objects: [{ id: 'Cube', name: 'Cube', type: 'mesh', translate: [x, 0, 0] }],
})

/** As in a browser that keeps no data of this site. */
const noStorage = `
  for (const name of ['localStorage', 'sessionStorage']) {
    Object.defineProperty(window, name, {
      get() { throw new DOMException('denied', 'SecurityError') },
    })
  }
`
const fullStorage = `
  Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }
`

describe('the live page in trouble', function () {
  this.timeout(120_000)
  let browser: Browser
  let serve: ServeProcess

  before(async function () {
    browser = await startBrowser(this)
    serve = await startServeProcess()
  })
  beforeEach(() => serve.post('scene', scene(0)))
  after(async () => {
    await browser?.close()
    await serve?.stop()
  })

  const link = async () => String((await serve.post('page-login', {})).json.url)
  const sees = (page: { getByRole: any }, name = 'shot_010.blend') =>
    page.getByRole('heading', { name: `Your AI can see ${name}` }).waitFor()

  for (const [what, script] of [
    ['blocked', noStorage],
    ['full', fullStorage],
  ] as const) {
    it(`lets a person in and follows the scene while the storage is ${what}`, async () => {
      const { page, context, open } = await newVisit(browser)
      await context.addInitScript(script)
      await open(await link())
      await sees(page)
      await serve.post('scene', scene(1))
      await page.getByText('Cube moved 1.00 along x').waitFor()
      await page.reload()
      await page.getByRole('button', { name: 'Log out' }).waitFor()
      await sees(page)
      await context.close()
    })
  }

  it('shows no screen before it knows which ones the server has', async () => {
    const { page, context } = await newVisit(browser)
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
    await context.close()
  })

  it('says that an answer is not whole, and reads again', async () => {
    const { page, context } = await newVisit(browser)
    let isCut = true
    await page.route('**/mcp', async route => {
      const isSummary = route.request().postData()?.includes('view=summary') === true
      const answer = { contentType: 'application/json', body: '{"result":' }
      await (isCut && isSummary ? route.fulfill(answer) : route.continue())
    })
    await page.goto(`${serve.base}/`)
    await page.getByRole('heading', { name: 'the answer is not whole' }).waitFor()
    isCut = false
    await sees(page)
    await context.close()
  })

  it('logs all tabs of a browser out at once', async () => {
    const visit = await newVisit(browser)
    await visit.open(await link())
    const other = await newTab(visit)
    await other.open(`${serve.base}/#/files`)
    await other.page.getByRole('button', { name: 'Choose files' }).waitFor()
    await visit.page.getByRole('button', { name: 'Log out' }).click()
    await other.page.getByText('To add files for your AI, log in').waitFor()
    await visit.context.close()
  })

  it('shows the present after the server was killed and started twenty times', async () => {
    const own = await startServeProcess()
    const { port, registryDir } = own
    const { page, context, open } = await newVisit(browser)
    await own.post('scene', scene(0))
    await open(`${own.base}/`)
    own.signal('SIGKILL')
    await own.exited
    for (let round = 1; round <= 20; round++) {
      const next = await startServeProcess({ flags: ['--port', String(port)], registryDir })
      await next.post('scene', scene(0, `shot_${round}.blend`))
      if (round % 5 === 0) {
        await page.evaluate('dispatchEvent(new Event("online"))')
        await sees(page, `shot_${round}.blend`)
        await page.getByText('Live', { exact: true }).waitFor()
      }
      next.signal(round < 20 ? 'SIGKILL' : 'SIGTERM')
      await next.exited
    }
    await page.getByText('Connection lost', { exact: true }).waitFor()
    await context.close()
  })

  it('stays of use with 100,000 objects, in chains and with hostile names', async () => {
    const hostile = `\u202e${'<b>&amp;'.repeat(500)}`
    const objects = Array.from({ length: 100_000 }, (_, at) => ({
      id: `O${at}`,
      name: at === 1 ? hostile : `Object ${at}`,
      type: at === 2 ? '__proto__' : 'mesh',
      ...(at > 0 && at < 15_000 && { parent: `O${at - 1}` }),
    }))
    await serve.post('scene', { ...scene(0), objects })
    const { page, context, open, complaints } = await newVisit(browser)
    await open(`${serve.base}/#/scene`)
    await page.getByText('The first 20000 of 100000 objects.').waitFor()
    const tree = page.getByRole('tree')
    await tree.focus()
    await page.keyboard.press('End')
    await page.getByRole('heading', { name: 'Object 19999' }).waitFor()
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    await page.getByRole('heading', { name: '<b>&amp;<b>' }).waitFor()
    const isWide = 'document.documentElement.scrollWidth > innerWidth'
    expect(await page.evaluate(isWide)).to.equal(false)
    await page.getByRole('searchbox').fill('Object 99999')
    await page.getByRole('button', { name: 'Search all' }).click()
    await page.getByRole('button', { name: 'O99999' }).click()
    await page.getByRole('heading', { name: 'Object 99999' }).waitFor()
    expect(complaints).to.deep.equal([])
    await context.close()
  })

  it('reads on a slow network', async () => {
    const { page, context } = await newVisit(browser)
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    const slow = { offline: false, latency: 400, downloadThroughput: 20_000 }
    await session.send('Network.emulateNetworkConditions', { ...slow, uploadThroughput: 20_000 })
    await page.goto(await link(), { timeout: 60_000 })
    await sees(page)
    await serve.post('scene', scene(2))
    await page.getByText('Cube moved 2.00 along x').waitFor()
    await context.close()
  })
})
