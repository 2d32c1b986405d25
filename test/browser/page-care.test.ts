import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { newVisit, startBrowser, type Visit } from '../helpers/browser.ts'
import { startGatewayProcess } from '../helpers/gateway-process.ts'
import { pngOf } from '../helpers/png.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

const lamp = { id: 'a1', name: 'Lamp', type: 'light' }
const scene = { schema: 'dcc-scene/1', document: { name: 'a.blend' }, objects: [lamp] }

const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent')

describe('the live page in the hands of a person', function () {
  this.timeout(60_000)
  let browser: Browser
  let serve: ServeProcess
  let visit: Visit
  let page: Page

  before(async function () {
    browser = await startBrowser(this)
    serve = await startServeProcess()
    visit = await newVisit(browser)
    page = visit.page
  })
  after(async () => {
    await browser?.close()
    await serve?.stop()
  })

  const go = (screen: string) => page.getByRole('link', { name: screen }).click()

  it('says in plain words that no scene has come, that one was withdrawn, and what is in it', async () => {
    const { json } = await serve.post('page-login', {})
    await visit.open(json.url)
    await page.getByText('No scene has come yet. The next one appears here by itself.').waitFor()
    await serve.post('scene', { shots: ['010'], camera: null, objects: ['Cube'], frame: 1 })
    const heading = page.getByRole('heading', { level: 1 })
    await heading
      .filter({ hasText: 'Your AI can see a scene with shots, camera, objects and more' })
      .waitFor()
    await serve.post('scene', { shots: ['010'], camera: null, objects: ['Cube', 'Lamp'], frame: 1 })
    await page.getByText('objects: Lamp added').waitFor()
    await serve.post('scene', 'null')
    await page.getByText('No scene is shared now.').waitFor()
    expect(await page.locator('main').textContent()).not.to.contain('://')
    await serve.post('scene', {})
    await heading.filter({ hasText: 'Your AI can see an empty scene' }).waitFor()
  })

  it('keeps what was typed while another screen is shown, until it is sent', async () => {
    await serve.post('scene', scene)
    const noted = await serve.post('notes', { text: 'Too bright', targets: ['Lamp'] })
    await serve.post(`notes/${noted.json.note.id}/answer`, { text: 'Dimmed', by: 'agent' })
    await go('Notes')
    await page.getByText('on Lamp', { exact: false }).waitFor()
    await page.getByLabel('New note').fill('Make the room warmer')
    await page.getByLabel('Reply').fill('Still too bright')
    await go('Scene')
    await page.getByRole('treeitem', { name: 'Lamp' }).click()
    await page.getByLabel('Tell your AI what to change').fill('Turn it')
    await go('Notes')
    expect(await page.getByLabel('New note').inputValue()).to.equal('Make the room warmer')
    expect(await page.getByLabel('Reply').inputValue()).to.equal('Still too bright')
    await page.getByRole('button', { name: 'Make a note' }).click()
    await page.locator('.list .text', { hasText: 'room warmer' }).waitFor()
    expect(await page.getByLabel('New note').inputValue()).to.equal('')
    await go('Scene')
    await page.getByRole('treeitem', { name: 'Lamp' }).click()
    const told = page.getByLabel('Tell your AI what to change')
    expect(await told.inputValue()).to.equal('Turn it')
  })

  it('keeps what was typed when it could not be sent, and says why', async () => {
    await go('Notes')
    await page.getByLabel('New note').fill('Lost on the way')
    await page.route('**/page/notes', route => route.abort())
    await page.getByRole('button', { name: 'Make a note' }).click()
    await page.getByRole('alert').filter({ hasText: 'the server cannot be reached' }).waitFor()
    expect(await page.getByLabel('New note').inputValue()).to.equal('Lost on the way')
    await page.unroute('**/page/notes')
  })

  it('leaves the focus on a button that works, and ignores further presses', async () => {
    const held = Promise.withResolvers<void>()
    let posts = 0
    await page.route('**/page/notes', async route => {
      posts++
      await held.promise
      await route.continue()
    })
    const button = page.getByRole('button', { name: 'Make a note' })
    await button.focus()
    await page.keyboard.press('Enter')
    await page.locator('button[aria-disabled=true]', { hasText: 'Make a note' }).waitFor()
    await page.keyboard.press('Enter')
    expect(await focused(page)).to.equal('Make a note')
    held.resolve()
    await page.locator('.list .text', { hasText: 'Lost on the way' }).waitFor()
    expect(await focused(page)).to.equal('Make a note')
    expect(posts).to.equal(1)
  })

  it('gives the focus to the content when the button that has it goes', async () => {
    await page.getByRole('button', { name: /Too bright/ }).click()
    await page.getByRole('button', { name: 'Accept' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'accepted' }).waitFor()
    expect(await page.evaluate('document.activeElement.id')).to.equal('content')
  })

  it('shows a small picture at twice its size, and no wider than the card', async () => {
    await serve.store(pngOf(40, 30), '?display_name=small.png', 'image/png')
    await serve.store(pngOf(600, 30), '?display_name=wide.png', 'image/png')
    await go('Files')
    const widthOf = async (name: string) => {
      const picture = page.locator('.card', { hasText: name }).getByRole('presentation')
      await picture.waitFor()
      const [{ width }, box] = [
        (await picture.boundingBox())!,
        (await picture.locator('..').boundingBox())!,
      ]
      return { width, most: box.width }
    }
    expect((await widthOf('small.png')).width).to.equal(80)
    const wide = await widthOf('wide.png')
    expect(wide.width).to.equal(wide.most)
  })

  it('says on a gateway only what is known of a document', async () => {
    const gateway = startGatewayProcess({ port: 0, registryDir: serve.registryDir })
    const { url } = await gateway.line('listening')
    const own = await newVisit(browser)
    await own.open(new URL('/', url).href)
    const card = own.page.locator('.card')
    await card.getByText('a scene posted by a program').waitFor()
    await card.getByText('available', { exact: true }).waitFor()
    expect(await card.textContent()).not.to.match(/heartbeat|unknown,/)
    await serve.post('scene', 'null')
    await card.getByText('no application connected').waitFor()
    await own.context.close()
    await gateway.stop()
  })
})
