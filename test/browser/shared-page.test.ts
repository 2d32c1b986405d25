import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { newVisit, startBrowser } from '../helpers/browser.ts'
import { RawSession, toolCall } from '../helpers/mcp.ts'
import { root } from '../helpers/program.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'
import { listening } from '../helpers/listening.ts'

// Of the browser, whose types are not those of the tests.
declare const createImageBitmap: any
declare const OffscreenCanvas: any

/** WebGL without a graphics card. */
const software = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader']

/** The page of docs/three.html, for a server at another port. */
async function readPage(hostUrl: string): Promise<string> {
  const html = await readFile(join(root, 'docs', 'three.html'), 'utf8')
  return html.replace('new HostClient({', `new HostClient({ url: '${hostUrl}',`)
}

/** The folder of the page, with its two packages. */
async function serveFolder(html: () => Promise<string>) {
  const server = createServer((req, res) => {
    const path = (req.url ?? '').replace('/node_modules/service-cli/', '/')
    const file = path === '/' ? html() : readFile(join(root, path))
    const type = path === '/' ? 'text/html' : 'text/javascript'
    file.then(
      body => res.writeHead(200, { 'Content-Type': type }).end(body),
      () => res.writeHead(404).end(),
    )
  })
  return `http://localhost:${await listening(server)}`
}

describe('a web page that shares its three.js scene', function () {
  this.timeout(60_000)
  let browser: Browser
  let origin: string
  let serve: ServeProcess
  let session: RawSession

  before(async function () {
    browser = await startBrowser(this, software)
    origin = await serveFolder(() => readPage(serve.hostUrl))
    const flags = ['--app-origin', origin, '--capture', 'host']
    serve = await startServeProcess({ flags })
    session = await RawSession.open(serve.url)
  })

  /** Opens the page; each time that it asks, it is given the next token. */
  async function open(tokens: (string | undefined)[], address = origin): Promise<Page> {
    const { page } = await newVisit(browser)
    page.on('dialog', dialog => void dialog.accept(tokens.shift() ?? ''))
    await page.goto(address)
    return page
  }
  const says = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()
  const token = () => serve.pageTokens.get(origin)
  const objects = async () => (await session.readJson('scene://current')).objects

  it('is read by clients, who are told of a change and look at its canvas', async () => {
    const page = await open([token()])
    await says(page, 'connected')
    await until(async () => (await objects())?.length === 2, 'the scene')
    const [cube] = await objects()
    expect(cube).to.include({ name: 'Cube', type: 'mesh', visible: true })
    expect(cube.translate).to.deep.equal([0, 0, 0])

    const events = await session.listen()
    await session.call('resources/subscribe', { uri: 'scene://current' })
    await page.getByRole('button').click()
    await events.until(() => events.updates.length > 0)
    expect((await objects())[0].translate).to.deep.equal([0.5, 0, 0])

    const { result } = await session.call('tools/call', toolCall('look'))
    const { data, mimeType } = result.content.find(({ type }: any) => type === 'image')
    // The corner shows the background, and the cube is not of its colour.
    const seen = await page.evaluate(async url => {
      const image = await createImageBitmap(await (await fetch(url)).blob())
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
      context.drawImage(image, 0, 0)
      const at = (x: number, y: number) => [...context.getImageData(x, y, 1, 1).data]
      return { width: image.width, corner: at(2, 2), cube: at(356, 200) }
    }, `data:${mimeType};base64,${data}`)
    expect(seen.width).to.equal(640)
    const steelBlue = [70, 130, 180]
    const distance = (colour: number[]) =>
      Math.max(...steelBlue.map((value, at) => Math.abs(value - (colour[at] ?? 0))))
    expect(distance(seen.corner), String(seen.corner)).to.be.lessThan(6)
    expect(distance(seen.cube), String(seen.cube)).to.be.greaterThan(30)
  })

  it('has the pictures of a note and of its proof, and looks from where an agent says', async () => {
    const page = await open([token()])
    await says(page, 'connected')
    await until(async () => (await objects())?.length === 2, 'the scene')
    const [{ id: target }] = await objects()
    const { json } = await serve.post('notes', { text: 'Further right', targets: [target] })
    expect(json.note).to.include({ before: `notes://${json.note.id}/before` })
    await page.getByRole('button').click()
    const { result } = await session.call(
      'tools/call',
      toolCall('answer_note', { id: json.note.id, text: 'Moved' }),
    )
    const { asked, difference } = result.structuredContent.proof
    expect(asked).to.deep.equal(['Cube moved 0.50 along x'])
    expect(difference.share).to.be.within(0.01, 0.9)
    const looks = [{ of: [target], view: 'top' }, { camera: (await objects())[1].id }]
    for (const shot of looks) {
      const looked = (await session.call('tools/call', toolCall('look', shot))).result
      expect(looked.content[0], JSON.stringify(looked)).to.include({ type: 'image' })
    }
    const unknown = (await session.call('tools/call', toolCall('look', { of: ['x'] }))).result
    expect(unknown.content[0].text).to.contain('no object x')
  })

  it('asks again for a token that is wrong', async () => {
    const page = await open(['wrong', '', token()])
    await says(page, 'connected')
  })

  it('cannot use its token for notes, audit records and /mcp', async () => {
    const page = await open([token()])
    await says(page, 'connected')
    const ask = (url: string) =>
      page.evaluate(
        async ([address = '', given]) => {
          const headers = { Authorization: `Bearer ${given}`, 'Content-Type': 'application/json' }
          try {
            return (await fetch(address, { method: 'POST', headers, body: '{"document":null}' }))
              .status
          } catch {
            return 'refused by the browser'
          }
        },
        [url, token()],
      )
    expect(await ask(`${serve.hostUrl}/v1/app`)).to.equal(409)
    for (const path of ['audit', 'notes', 'notes/import', 'page-login']) {
      expect(await ask(`${serve.hostUrl}/v1/${path}`), path).to.equal(403)
    }
    expect(await ask(serve.url)).to.equal('refused by the browser')
  })

  it('is refused from an origin that was not named', async () => {
    const other = await serveFolder(() => readPage(serve.hostUrl))
    const page = await open([token()], other)
    await says(page, /^waiting: no server opens the link at .*, or it has no --app-origin http:/)
  })
})
