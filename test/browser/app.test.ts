import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { until } from '../helpers/until.ts'
import { accessFaults } from '../helpers/browser.ts'
import { forFile } from '../helpers/cleanup.ts'
import { LinkClient } from '../helpers/link.ts'
import { pngOf } from '../helpers/pictures.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'
import { callStateless } from '../helpers/stateless.ts'
import { type Chat, ChatHost, type OpenOptions } from './chat-host.ts'
import { toolCall } from '../helpers/mcp.ts'

const hostile = '</script><img src=x onerror="document.title=1">'
const maxHeight = 640

const sceneOf = (x: number, document = 'shot_010.blend', name = 'Cube') => ({
  schema: 'dcc-scene/1',
  document: { name: document },
  time: { frame: 24 },
  selection: { ids: ['Cube'], active: 'Cube', count: 1 },
  objects: [{ id: 'Cube', name, type: 'mesh', translate: [x, 0, 0] }],
})

describe('the live view in a chat', function () {
  this.timeout(60_000)
  let host: ChatHost
  let serve: ServeProcess
  let application: LinkClient
  let chat: Chat
  let pictureHeight = 90

  const startServe = async (flags: string[] = []) => {
    const allowed = ['--allowed-origin', host.origin]
    serve = await forFile(() => startServeProcess({ flags: [...allowed, ...flags] }))
    await connectApplication()
  }
  const connectApplication = async () => {
    const capture = { targets: ['window'] }
    application = await forFile(() => LinkClient.connect(serve, { capture }))
    application.answer = () => ({ png: pngOf(160, pictureHeight) })
    await show(0)
  }
  const show = (...facts: Parameters<typeof sceneOf>) =>
    application.done({ type: 'scene.set', scene: sceneOf(...facts) })

  before(async function () {
    host = await ChatHost.start(this)
    await startServe()
  })

  const open = async (tool = 'look', options: OpenOptions = {}) => {
    await show(0)
    chat = await host.open(serve.url, tool, options)
    await chat.app.getByText('Live', { exact: true }).waitFor()
    // What came before the first read is no change.
    if (tool === 'look') await heading('Your AI can see').waitFor()
  }
  const heading = (text: string) => chat.app.getByRole('heading', { name: text })
  const call = async (name: string, args: object = {}) => {
    const { json } = await callStateless(serve.url, 'tools/call', toolCall(name, args))
    return json.result.structuredContent
  }
  /** The scene changes, and a client that waits for it hears of it. */
  const changeHeard = async (x: number) => {
    const { revision: since } = await call('query_scene')
    await show(x)
    expect(await call('wait_for_change', { since })).to.include({ changed: true })
  }

  it('is opened by a call of look, and shows the scene and the picture', async () => {
    await open()
    const { uri, mimeType, html } = chat.opened
    expect([uri, mimeType]).to.deep.equal(['ui://service-cli/live', 'text/html;profile=mcp-app'])
    expect(gzipSync(html).length).to.be.lessThan(40_000)
    await heading('Your AI can see shot_010.blend').waitFor()
    await chat.app.getByText('1 object · frame 24 · Cube selected').waitFor()
    const picture = chat.app.getByAltText('What the application shows')
    expect(await picture.getAttribute('src')).to.match(/^data:image\/jpeg;base64,/)
  })

  it('tells in words what changes, and takes the picture again', async () => {
    await open()
    const picture = chat.app.getByAltText('What the application shows')
    const first = await picture.getAttribute('src')
    pictureHeight++
    await show(0.5)
    await chat.app.getByText('Cube moved 0.50 along x').waitFor()
    await until(async () => (await picture.getAttribute('src')) !== first, 'another picture')
  })

  it('counts as nothing that the client did', async () => {
    await open()
    await show(2)
    await chat.app.getByText('Cube moved 2.00 along x').waitFor()
    const { json } = await callStateless(serve.url, 'resources/read', { uri: 'server://clients' })
    const { clients } = JSON.parse(json.result.contents[0].text)
    const row = clients.find(({ name }: any) => name === 'chat')
    expect(row.last_call.tool).to.equal('look')
  })

  it('says that the application has left', async () => {
    await open()
    await application.bye()
    await chat.app.getByText('This is its last scene').waitFor()
    await chat.app.getByText('Not live', { exact: true }).waitFor()
    await connectApplication()
  })

  it('shows the notes when list_notes has opened it, and writes none', async () => {
    await open('list_notes')
    const { json } = await serve.post('notes', { text: 'Too dark', targets: ['Cube'] })
    await chat.app.getByRole('button', { name: 'Too dark' }).click()
    await chat.app.getByText('on Cube').waitFor()
    await call('answer_note', { id: json.note.id, text: 'Brighter now' })
    await chat.app.getByText('Brighter now').waitFor()
    await chat.app.getByText('1 answered, your turn').waitFor({ state: 'attached' })
    expect(await chat.app.getByRole('textbox').count()).to.equal(0)
    expect(await chat.app.getByRole('button', { name: 'Accept' }).count()).to.equal(0)
  })

  it('shows names of a document as text', async () => {
    await open()
    await show(0, hostile, hostile)
    await heading(`Your AI can see ${hostile}`).waitFor()
    await chat.app.locator('.changes li', { hasText: hostile }).waitFor()
    expect(await chat.app.locator('img').count()).to.equal(1)
    expect(await chat.frame.title()).to.equal('service-cli')
  })

  for (const hasPolicy of [true, false]) {
    const where = hasPolicy ? 'with the policy that it asks for' : 'of a chat without a policy'
    it(`lets no request leave its frame, ${where}`, async () => {
      await open('look', { hasPolicy })
      const load = (url: string) => `new Promise(resolve => {
        const image = new Image()
        image.onload = image.onerror = resolve
        image.src = '${url}'
      })`
      await chat.frame.evaluate(load(`${host.origin}/image`))
      const sent = `fetch('${host.origin}/fetch', { mode: 'no-cors' }).then(() => 'sent', () => 'refused')`
      expect(await chat.frame.evaluate(sent)).to.equal('refused')
      expect(host.requested).to.include.members(['/', '/script.js'])
      expect(host.requested.filter(path => /image|fetch/.test(path))).to.deep.equal([])
    })
  }

  for (const [theme, width] of [
    ['light', 400],
    ['dark', 700],
  ] as const) {
    it(`fits into a chat in ${theme} colours, ${width} pixels wide`, async () => {
      const styles = { variables: { '--color-background-primary': 'rgb(1, 2, 3)' } }
      const other = theme === 'light' ? 'dark' : 'light'
      await open('look', { width, context: { theme: other, styles } })
      const styleOf = (name: string) =>
        chat.frame.evaluate(`getComputedStyle(document.documentElement).${name}`)
      expect(await styleOf('backgroundColor')).to.equal('rgb(1, 2, 3)')
      await chat.run(`change({ theme: '${theme}', styles: { variables: {
        '--color-background-primary': '${theme === 'light' ? 'white' : 'black'}' } } })`)
      await until(async () => (await styleOf('colorScheme')) === theme, 'the theme')
      await chat.app.getByAltText('What the application shows').waitFor()
      for (const screen of ['Now', 'Notes']) {
        await chat.app.getByRole('button', { name: screen }).click()
        expect(await accessFaults(chat.frame), screen).to.deep.equal([])
        const isWide = 'document.documentElement.scrollWidth > innerWidth'
        expect(await chat.frame.evaluate(isWide), `${screen} scrolls sideways`).to.equal(false)
      }
    })
  }

  it('asks for the height that it needs, up to a bound', async () => {
    await open()
    const height = () => chat.frame.evaluate('innerHeight') as Promise<number>
    const needed = 'document.getElementById("app").getBoundingClientRect().height'
    const isFitting = async () => Math.ceil(Number(await chat.frame.evaluate(needed)))
    await chat.app.getByAltText('What the application shows').waitFor()
    await until(async () => (await height()) === (await isFitting()), 'the height')
    await chat.run('change({ containerDimensions: { maxHeight: 150 } })')
    await until(async () => (await height()) === 150, 'the height of the chat')
    await chat.run(`change({ containerDimensions: { maxHeight: ${10 * maxHeight} } })`)
    await chat.frame.evaluate('document.getElementById("app").style.minHeight = "2000px"')
    await until(async () => (await height()) === maxHeight, 'the greatest height')
  })

  it('asks for nothing while it is scrolled away, and shows the present when it is back', async () => {
    await open()
    await chat.page.evaluate(
      'document.body.style.paddingTop = "5000px"; new Promise(requestAnimationFrame)',
    )
    await chat.app.getByText('Connecting').waitFor()
    const before = chat.calls.length
    await changeHeard(3)
    await changeHeard(4)
    expect(chat.calls.slice(before)).to.deep.equal([])
    await chat.page.evaluate('document.body.style.paddingTop = 0')
    await chat.app.getByText('Cube moved 4.00 along x').waitFor()
    await chat.app.getByText('Live', { exact: true }).waitFor()
  })

  it('asks for nothing once the chat has closed it', async () => {
    await open()
    await chat.run('teardown()')
    await chat.app.getByText('The chat has closed this view.').waitFor()
    const before = chat.calls.length
    await changeHeard(3)
    await changeHeard(4)
    expect(chat.calls.slice(before)).to.deep.equal([])
  })

  it('says that the connection is lost when the chat no longer answers', async () => {
    await open('look', { hasClock: true })
    await chat.run('hang()')
    await chat.page.clock.fastForward(35_000)
    await chat.app.getByText('Connection lost', { exact: true }).waitFor()
    await chat.app.getByText('the chat does not answer').first().waitFor()
  })

  it('says when the connection is lost, and shows the present once it is back', async () => {
    await open()
    const { port } = serve
    serve.signal('SIGKILL')
    await chat.app.getByText('Connection lost', { exact: true }).waitFor()
    await chat.app.getByText('What you see is from before').waitFor()
    await serve.stop()
    await application.bye()
    await startServe(['--port', String(port)])
    await show(1, 'shot_020.blend')
    await heading('Your AI can see shot_020.blend').waitFor()
    await chat.app.getByText('Live', { exact: true }).waitFor()
  })
})
