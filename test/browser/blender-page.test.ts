import { expect } from 'chai'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { until } from '../helpers/until.ts'
import {
  type InstalledAddon,
  type Remote,
  blenderModes,
  hasPrograms,
  installAddon,
  startRemote,
} from '../helpers/blender.ts'
import { newVisit, startBrowser, type Visit } from '../helpers/browser.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { skipBecause } from '../helpers/skip.ts'

const results = fileURLToPath(new URL('../../results/', import.meta.url))
/** What a screen shows once it has read what it shows. */
const readyAt = { now: '.picture img', scene: '.row', files: '.preview img', connect: 'summary' }
const gui = blenderModes.find(({ mode }) => mode === 'gui')!

describe('the live page beside Blender', function () {
  this.timeout(120_000)
  let addon: InstalledAddon
  let serve: ServeProcess
  let blender: Remote
  let browser: Browser
  let visit: Visit
  let page: Page

  before(async function () {
    if (!hasPrograms(...gui.needs)) {
      skipBecause(this, `one of ${gui.needs.join(', ')} is not installed`)
    }
    browser = await startBrowser(this)
    await mkdir(results, { recursive: true })
    addon = await installAddon()
    const registryDir = join(addon.folder, 'registry')
    await mkdir(registryDir, { mode: 0o700 })
    serve = await startServeProcess({ registryDir, flags: ['--capture', 'host'] })
    visit = await newVisit(browser)
    page = visit.page
    page.setDefaultTimeout(40_000)
    await visit.open((await serve.post('page-login', {})).json.url)
  })
  after(async () => {
    const left = await blender?.quit()
    await addon?.remove()
    if (blender !== undefined) expect(left, blender.run.output()).to.equal(0)
  })

  const notes = async () => (await blender.ask('notes')) as any

  it('says that no application is there, and shows Blender once it is', async () => {
    await page.getByRole('heading', { name: 'No application is connected' }).waitFor()
    const env = { SERVICE_REGISTRY_DIR: serve.registryDir, LIBGL_ALWAYS_SOFTWARE: '1' }
    blender = await startRemote(addon, { args: gui.args, env, command: [...gui.command] })
    await blender.tell('connect')
    await page.getByRole('heading', { name: /Your AI can see/ }).waitFor()
    await page.getByText(/3 objects · .*Blender 3|3 objects · .*Blender 4/).waitFor()
    await page.getByRole('img', { name: 'What the application shows' }).waitFor()
  })

  it('shows what the artist moves, in words and in a new picture', async () => {
    const picture = page.getByRole('img', { name: 'What the application shows' })
    const before = await picture.getAttribute('src')
    await blender.tell('raise_cube_and_light')
    await page.getByText('Cube moved 1.00 along z').waitFor()
    await page.getByText('Light moved -2.00 along x').waitFor()
    await until(async () => (await picture.getAttribute('src')) !== before, 'the picture', 60_000)
  })

  it('shows a note of the artist, and in Blender one that points at the picture', async () => {
    await blender.tell('note')
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.locator('.said', { hasText: 'The cube is too low' }).waitFor()
    await page.getByLabel('New note').fill('Make this warmer')
    await page.getByRole('button', { name: 'Point at something' }).click()
    await page.getByRole('button', { name: 'Stop pointing' }).waitFor()
    await page.locator('.pointing img').waitFor()
    await page.locator('.pointing').click({ position: { x: 30, y: 20 } })
    await page.getByRole('button', { name: 'Make a note' }).click()
    await page.getByRole('button', { name: 'Make this warmer' }).click()
    await page.getByRole('img', { name: 'Before' }).waitFor()
    await page.locator('.detail .pin').waitFor()
    await page.locator('.detail', { hasText: ', names no object' }).waitFor()
    await until(async () => (await notes()).states.length === 2, 'the note in Blender')
  })

  it('compares before and after of an answer, and accepts it for Blender, too', async () => {
    await page.getByRole('button', { name: 'The cube is too low' }).click()
    await page.getByRole('img', { name: 'Before' }).waitFor()
    await blender.tell('raise_cube_and_light')
    await serve.post('notes/1/answer', { text: 'Raised it', by: 'agent' })
    const proof = page.locator('.proof')
    await proof.getByText('Cube moved 1.00 along z').waitFor()
    await proof.locator('.warning', { hasText: 'Light moved -2.00 along x' }).waitFor()
    await page.getByRole('img', { name: 'After' }).waitFor()
    await page.getByText(/% of the picture is different/).waitFor()
    await page.locator('.detail').getByRole('slider').press('ArrowRight')
    await page.screenshot({ path: join(results, 'page-notes.png') })
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByRole('heading', { name: 'accepted' }).waitFor()
    await until(async () => (await notes()).states.includes('accepted'), 'it in Blender')
  })

  it('is written to results/, each screen, for people to look at', async () => {
    await serve.store(await page.screenshot(), '?display_name=render_010.png', 'image/png')
    for (const screen of ['now', 'scene', 'files', 'connect'] as const) {
      await page.goto(`${serve.base}/#/${screen}`)
      await page.locator(readyAt[screen]).first().waitFor()
      if (screen === 'scene') {
        await page.locator('.row').first().click()
        await page.locator('.facts').waitFor()
      }
      if (screen === 'connect') await page.locator('summary').first().click()
      await page.screenshot({ path: join(results, `page-${screen}.png`) })
      await page.setViewportSize({ width: 360, height: 740 })
      await page.screenshot({ path: join(results, `page-${screen}-360.png`) })
      await page.setViewportSize({ width: 1280, height: 720 })
    }
  })

  it('says when Blender has left, and that its last scene is no longer live', async () => {
    await page.getByRole('link', { name: 'Now' }).click()
    await blender.quit()
    await page.getByText(/Blender left .* This is its last scene/).waitFor()
    await page.getByText('Not live', { exact: true }).waitFor()
    await page.getByText('No picture: no application is connected').waitFor()
    expect(await page.getByAltText('What the application shows').count()).to.equal(0)
    expect(visit.complaints).to.deep.equal([])
  })
})
