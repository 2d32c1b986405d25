import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { newVisit, seriousFaults, startBrowser } from '../helpers/browser.ts'
import { startGatewayProcess } from '../helpers/gateway-process.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

const scene = (x: number) => ({
  shots: ['010', '020'],
  camera: { lens: 35 },
  objects: [{ id: 'Cube', translate: [x, 0, 0] }],
})

describe('the live page in other places', function () {
  this.timeout(60_000)
  let browser: Browser
  let serve: ServeProcess

  before(async function () {
    browser = await startBrowser(this, ['--host-resolver-rules=MAP evil.test 127.0.0.1'])
    serve = await startServeProcess({ flags: ['--allowed-host', 'studio.test'] })
    await serve.post('scene', scene(0))
  })
  after(async () => {
    await browser?.close()
    await serve?.stop()
  })

  it('asks for a login where the server asks for a key', async () => {
    const key = 'a-key-of-24-characters-or-more'
    const keyed = await startServeProcess({ env: { SERVICE_MCP_API_KEY: key } })
    await keyed.post('scene', scene(0))
    const { page, context } = await newVisit(browser)
    await page.goto(`${keyed.base}/`)
    await page.getByRole('heading', { name: 'This server asks for a login' }).waitFor()
    expect(await seriousFaults(page)).to.deep.equal([])
    await page.getByLabel('Or type an API key').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').filter({ hasText: 'key' }).waitFor()
    await page.getByLabel('Or type an API key').fill(key)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: /Your AI can see/ }).waitFor()
    expect(await page.evaluate('JSON.stringify({ ...localStorage })')).not.to.include(key)
    await keyed.post('scene', scene(1))
    await page.getByText('Cube moved 1.00 along x').waitFor()
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.getByText('To make notes, log in').waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'This server asks for a login' }).waitFor()
    await context.close()
    await keyed.stop()
  })

  it('gives nothing under a name that the server does not have', async () => {
    const { page, context } = await newVisit(browser)
    const response = await page.goto(`http://evil.test:${serve.port}/`)
    expect(response?.status()).to.equal(403)
    await context.close()
  })

  it('lists the instances of a gateway, with links to their pages', async () => {
    const { registryDir } = serve
    const gateway = startGatewayProcess({ port: 0, registryDir })
    const { url } = await gateway.line('listening')
    const visit = await newVisit(browser)
    await visit.open(new URL('/', url).href)
    const card = visit.page.locator('.card')
    await card.getByText('available').waitFor()
    expect(await seriousFaults(visit.page)).to.deep.equal([])
    await card.getByRole('link', { name: 'Open its page' }).click()
    await visit.page.getByRole('heading', { name: /Your AI can see/ }).waitFor()
    expect(new URL(visit.page.url()).port).to.equal(String(serve.port))
    await visit.context.close()
    await gateway.stop()
  })

  it('shows a scene of any other form, level by level', async () => {
    const { objects: _, ...form } = scene(0)
    await serve.post('scene', form)
    const visit = await newVisit(browser)
    await visit.open(`${serve.base}/#/scene`)
    await visit.page.getByRole('button', { name: 'shots array: 2 items' }).click()
    await visit.page.getByText('020').waitFor()
    await visit.page.getByRole('button', { name: 'camera' }).click()
    await visit.page.getByText('35').waitFor()
    await visit.context.close()
    // The one of the README: its objects have no ids.
    await serve.post('scene', { objects: ['Cube', null] })
    const other = await newVisit(browser)
    await other.open(`${serve.base}/#/scene`)
    await other.page.getByRole('button', { name: 'objects array: 2 items' }).click()
    await other.page.getByText('Cube').waitFor()
    await other.context.close()
  })

  it('says when the scene is withdrawn, and when one comes', async () => {
    await serve.post('scene', scene(0))
    const { page, context, open, complaints } = await newVisit(browser)
    await open(`${serve.base}/`)
    await page.getByRole('heading', { name: /Your AI can see/ }).waitFor()
    await serve.post('scene', 'null')
    await page.locator('.changes').getByText('The scene was withdrawn').waitFor()
    await page.getByRole('link', { name: 'Scene' }).click()
    await page.getByText('The scene has no objects.').waitFor()
    await serve.post('scene', scene(0))
    await page.getByRole('treeitem', { name: 'Cube' }).waitFor()
    await page.getByRole('link', { name: 'Now' }).click()
    await page.locator('.changes').getByText('The scene came').waitFor()
    expect(complaints).to.deep.equal([])
    await context.close()
  })
})
