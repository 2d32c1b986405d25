import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { newTab, newVisit, accessFaults, startBrowser, type Visit } from '../helpers/browser.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { callStateless } from '../helpers/stateless.ts'

const sceneOf = (x: number) => ({
  schema: 'dcc-scene/1',
  document: { name: 'a.blend' },
  objects: [{ id: 'a1', name: 'Lamp', type: 'light', translate: [x, 0, 0] }],
})

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
    await serve.post('scene', sceneOf(0))
    visit = await newVisit(browser)
    page = visit.page
  })

  const go = (screen: string) => page.getByRole('link', { name: screen }).click()
  const link = async () => String((await serve.post('page-login', {})).json.url)
  const read = async (uri: string) => {
    const { json } = await callStateless(serve.url, 'resources/read', { uri })
    return JSON.parse(json.result.contents[0].text)
  }

  it('lets a person in by a link that works once, and leaves no secret behind', async () => {
    const address = await link()
    await visit.open(address)
    expect(page.url()).to.equal(`${serve.base}/`)
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.getByLabel('New note').waitFor()
    const code = new URLSearchParams(new URL(address).hash.slice(1)).get('login')!
    const left = await page.evaluate<string>(
      'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])',
    )
    expect(left).to.equal('["",{},{}]')
    expect(visit.requests.join()).not.to.include(code)
    await page.reload()
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.getByLabel('New note').waitFor()

    const other = await newVisit(browser)
    await other.open(address)
    await other.page.getByText('The link does not work').waitFor()
    await other.page.getByRole('link', { name: 'Notes' }).click()
    await other.page.getByText('To make notes, log in').waitFor()
  })

  it('keeps what was typed while another screen is shown, until it is sent', async () => {
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

  it('makes notes, and settles what an agent has answered', async () => {
    await page.getByLabel('New note').fill('Make the lamp warmer')
    await page.getByRole('button', { name: 'Make a note' }).click()
    await page.locator('.list .text', { hasText: 'lamp warmer' }).waitFor()
    const { notes } = await read('notes://open')
    const { id, author } = notes.find(({ text }: any) => text === 'Make the lamp warmer')
    expect(author).to.equal('page')
    await serve.post(`notes/${id}/answer`, { text: 'It is warmer now', by: 'agent' })
    await page.getByText('1 answered, your turn').waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'lamp warmer' }).click()
    await page.getByText('It is warmer now').waitFor()
    await page.getByRole('button', { name: 'Accept', exact: true }).click()
    await page.getByRole('heading', { name: 'accepted' }).waitFor()
    expect((await read(`notes://${id}`)).state).to.equal('accepted')
    const { entries } = await read('audit://recent')
    expect(entries.at(-1)).to.include({ action: 'note.accept', actor: 'page' })
  })

  it('stores files that are dropped on it', async () => {
    await go('Files')
    const buffer = Buffer.from('warm light, please')
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'brief.txt', mimeType: 'text/plain', buffer })
    await page.getByText('brief.txt is stored.').waitFor()
    const card = page.locator('.card', { hasText: 'brief.txt' })
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      card.getByRole('link', { name: 'Download' }).click(),
    ])
    expect(download.suggestedFilename()).to.equal('brief.txt')
    const { json } = await callStateless(serve.url, 'resources/list')
    const { uri } = json.result.resources.find(({ name }: any) => name === 'brief.txt')
    const answer = await callStateless(serve.url, 'resources/read', { uri })
    expect(answer.json.result.contents[0].blob).to.equal(buffer.toString('base64'))
  })

  it('logs all tabs of a browser out at once', async () => {
    const leaving = await newVisit(browser)
    await leaving.open(await link())
    const other = await newTab(leaving)
    await other.open(`${serve.base}/#/files`)
    await other.page.getByRole('button', { name: 'Choose files' }).waitFor()
    await leaving.page.getByRole('button', { name: 'Log out' }).click()
    await other.page.getByText('To add files for your AI, log in').waitFor()
    await other.page.reload()
    await other.page.getByText('To add files for your AI, log in').waitFor()
    await other.page.getByText('Live', { exact: true }).waitFor()
  })

  it('shows no note of the last document after another one is opened', async () => {
    await serve.post('app', { document: { path: '/shots/first.blend' } })
    await serve.post('notes', { text: 'Of the first document' })
    await visit.open(`${serve.base}/#/notes`)
    await page.locator('.said', { hasText: 'Of the first document' }).waitFor()
    await serve.post('app', { document: { path: '/shots/second.blend' } })
    await page.getByRole('heading', { name: 'No note in this document yet' }).waitFor()
    expect(await page.getByText('Of the first document').count()).to.equal(0)
  })

  it('says that the picture of a note is missing, and why', async () => {
    const { page, open } = await newVisit(browser)
    await page.route('**/mcp', async route => {
      if (!/"uri":"notes:\/\/[\da-f]{8}"/.test(route.request().postData() ?? '')) {
        return route.continue()
      }
      const response = await route.fetch()
      const answer = await response.json()
      const [content] = answer.result.contents
      const note = JSON.parse(content.text)
      content.text = JSON.stringify({ ...note, before: `notes://${note.id}/before` })
      await route.fulfill({ response, json: answer })
    })
    await serve.post('notes', { text: 'Without its picture' })
    await open(`${serve.base}/#/notes`)
    await page.getByText(/^The picture is missing: /).waitFor()
  })

  it('says that the login has ended, and keeps what was typed', async () => {
    const { page, open } = await newVisit(browser)
    let own = await startServeProcess()
    await open((await own.post('page-login', {})).json.url)
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.getByLabel('New note').fill('Make the room warmer')
    await own.stop()
    own = await startServeProcess({ flags: ['--port', String(own.port)] })
    await page.getByRole('alert').filter({ hasText: 'Your login has ended' }).waitFor()
    await page.getByText('To make notes, log in').waitFor()
    expect(await page.getByLabel('New note').inputValue()).to.equal('Make the room warmer')
    const { url } = (await own.post('page-login', {})).json
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(url).hash)}`)
    await page.getByRole('button', { name: 'Log out' }).waitFor()
    expect(await page.getByText('Your login has ended').count()).to.equal(0)
    expect(await page.getByLabel('New note').inputValue()).to.equal('Make the room warmer')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('To make notes, log in').waitFor()
    expect(await page.getByText('Your login has ended').count()).to.equal(0)
  })

  it('asks for a login where the server asks for a key', async () => {
    const key = 'a-key-of-24-characters-or-more'
    const keyed = await startServeProcess({ env: { SERVICE_MCP_API_KEY: key } })
    await keyed.post('scene', sceneOf(0))
    const { page } = await newVisit(browser)
    await page.goto(`${keyed.base}/`)
    await page.getByRole('heading', { name: 'This server asks for a login' }).waitFor()
    expect(await accessFaults(page)).to.deep.equal([])
    await page.getByLabel('Or type an API key').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').filter({ hasText: 'key' }).waitFor()
    await page.getByLabel('Or type an API key').fill(key)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: /Your AI can see/ }).waitFor()
    expect(await page.evaluate('JSON.stringify({ ...localStorage })')).not.to.include(key)
    await keyed.post('scene', sceneOf(1))
    await page.getByText('Lamp moved 1.00 along x').waitFor()
    await page.getByRole('link', { name: 'Notes' }).click()
    await page.getByText('To make notes, log in').waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'This server asks for a login' }).waitFor()
  })
})
