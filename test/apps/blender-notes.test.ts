import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PNG } from 'pngjs'
import { until } from '../helpers/until.ts'
import {
  type LinkedBlender,
  needWindowedBlender,
  startLinkedBlender,
} from '../helpers/linked-blender.ts'
import { boundsOfCube, differingPixels, isInside } from './note-pixels.ts'
import { toolCall } from '../helpers/mcp.ts'

const waitMs = 30_000
const results = fileURLToPath(new URL('../../results/', import.meta.url))

describe('a note, from the artist in Blender to the proof and back', function () {
  this.timeout(120_000)
  let linked: LinkedBlender
  let client: Client
  let id: string

  before(async function () {
    needWindowedBlender(this)
    linked = await startLinkedBlender()
    client = new Client({ name: 'agent', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(linked.serving.url)))
    await linked.blender.tell('add_box')
    const hasBox = async () => (await call('query_scene', { name: 'Box' })).text.includes('"Box"')
    await until(hasBox, 'the scene', waitMs)
  })
  after(async () => {
    await client?.close()
    await linked?.stop()
  })

  async function call(name: string, args: Record<string, unknown> = {}) {
    const { content, structuredContent, isError } = (await client.callTool(
      toolCall(name, args) as never,
    )) as any
    return { content, text: String(content[0].text), data: structuredContent ?? {}, isError }
  }
  const read = async (uri: string) => {
    const [content] = (await client.readResource({ uri })).contents as any[]
    return content
  }
  const note = async () => JSON.parse((await read(`notes://${id}`)).text)
  const picture = async (uri: string) =>
    PNG.sync.read(Buffer.from((await read(uri)).blob, 'base64'))
  const shown = async () => (await linked.blender.ask('notes')) as any
  /** For people to look at. */
  async function keepScreenshot(name: string): Promise<void> {
    await linked.blender.tell('outside')
    await mkdir(results, { recursive: true })
    await copyFile(join(linked.addon.folder, 'outside.png'), join(results, `${name}.png`))
  }

  it('wakes the agent that waits, with its objects, its place and a picture', async () => {
    const waiting = call('wait_for_change', { uris: ['notes://open'], timeout_s: 45 })
    await linked.blender.tell('note')
    expect((await waiting).data).to.deep.include({ changed: true, uris: ['notes://open'] })
    const { notes } = (await call('list_notes')).data
    expect(notes).to.have.length(1)
    ;({ id } = notes[0])
    const made = await note()
    expect(made).to.deep.include({ number: 1, text: 'The cube is too low', position: [0, 0, 0] })
    expect(made.targets).to.have.length(1)
    expect(made.targets[0]).to.include({ id: 'Cube', name: 'Cube' })
    expect(made.view.view_matrix).to.have.length(16)
    expect(made.no_picture).to.equal(undefined)
    expect((await picture(made.before)).width).to.be.above(300)
    await until(async () => (await shown()).pins[0] === '1', 'the pin', waitMs)
    await keepScreenshot('blender-note-pin')
  })

  it('is proved: what was asked for, what else changed, and where in the picture', async () => {
    await linked.blender.tell('raise_cube_and_box')
    const { text, data, content } = await call('answer_note', { id, text: 'Raised it' })
    expect(data.proof).to.deep.include({
      settled: true,
      asked: ['Cube moved 1.00 along z'],
      also_changed: ['Box moved 1.00 along z'],
    })
    expect(text).to.include('also changed:\n- Box moved')
    expect(content[1]).to.include({ type: 'image' })
    const { before, view } = await note()
    const { after, difference } = data.proof
    const pixels = differingPixels(await picture(before), await picture(after))
    const cube = boundsOfCube(view, [0, 0, 0.5], [1, 1, 1.5])
    const box = boundsOfCube(view, [3, -2, 0.5], [0.5, 0.5, 1])
    const outside = pixels.filter(at => !isInside(at, cube) && !isInside(at, box))
    expect(outside, 'what differs beside the two').to.deep.equal([])
    for (const bounds of [cube, box]) {
      expect(pixels.filter(at => isInside(at, bounds)).length).to.be.above(50)
    }
    expect(pixels.filter(at => !isInside(at, difference.box))).to.deep.equal([])
    expect(difference.share).to.be.above(0).and.below(0.5)
  })

  it('shows the person the answer, and takes the word of the person', async () => {
    await until(async () => (await shown()).lines[0]?.length > 4, 'the proof', waitMs)
    const { states, lines } = await shown()
    expect(states).to.deep.equal(['answered'])
    const [text, about, answer, ...proof] = lines[0]
    expect([text, about]).to.deep.equal(['The cube is too low', 'About: Cube'])
    expect(answer).to.match(/: Raised it$/)
    expect(proof).to.deep.equal([
      'Changed:',
      '- Cube moved 1.00 along z',
      'Also changed:',
      '- Box moved 1.00 along z',
    ])
    await linked.blender.tell('accept_note')
    await until(async () => (await note()).state === 'accepted', 'the acceptance', waitMs)
    await until(async () => (await shown()).states[0] === 'accepted', 'the state', waitMs)
    expect((await shown()).pins).to.deep.equal([])
  })

  it('stays about its object when that is renamed, and says when it is gone and back', async () => {
    await linked.blender.tell('note')
    const says = async (words: string) => {
      await until(
        async () => (await shown()).lines.at(-1)?.[1] === `About: ${words}`,
        words,
        waitMs,
      )
    }
    await says('Cube')
    await linked.blender.tell('step rename Cube Hero 2')
    await says('Hero (was Cube)')
    const targets = async () => JSON.parse((await read('notes://2')).text).targets
    const hero = { id: 'Hero', name: 'Hero', was: 'Cube' }
    await until(async () => (await targets())[0].id === 'Hero', 'the name at the server', waitMs)
    expect((await targets())[0]).to.include(hero)
    expect((await call('list_notes')).text).to.include('about Hero')
    const { text } = await call('answer_note', { id: '2', text: 'Renamed it' })
    expect(text).to.include('Cube renamed Hero, moved 2.00 along x')
    await linked.blender.tell('step delete Hero')
    await says('Cube (gone)')
    await linked.blender.tell('undo')
    await says('Hero (was Cube)')
    await linked.blender.tell('step rename Hero Cube -2')
    await says('Cube')
    await linked.serving.post('notes/2/reopen', {})
  })

  it('is not shown while the scene is not shared, and neither is that of another document', async () => {
    await linked.blender.tell('share_scene off')
    const isWithdrawn = async () => (await read('scene://current')).text.includes('no_snapshot')
    await until(isWithdrawn, 'the scene withdrawn', waitMs)
    await linked.serving.post('notes', { text: 'Of no document' })
    const none = 'Notes need the scene and document, which are not shared: see the preferences.'
    expect(await shown()).to.deep.include({ states: [], pins: [], none })
    await linked.blender.tell('share_scene on')
    await until(async () => !(await isWithdrawn()), 'the scene shared', waitMs)
    await until(async () => (await shown()).states.length === 2, 'its notes', waitMs)
    expect((await shown()).lines.flat()).to.include('The cube is too low')
  })

  it('is not shown while the link is down, and as it is when the link is back', async () => {
    await linked.serving.post('notes/2/answer', { text: 'Done' })
    await until(async () => (await shown()).states.at(-1) === 'answered', 'the answer', waitMs)
    await linked.stopServing()
    await until(async () => (await shown()).states.length === 0, 'none shown', waitMs)
    expect(await shown()).to.deep.include({
      pins: [],
      none: 'Not connected: notes are shown while the link is up.',
    })
    const serving = await linked.serveAgain()
    await until(async () => (await shown()).states.at(-1) === 'answered', 'all of them', waitMs)
    await serving.post('notes/2/close', {})
    await until(async () => (await shown()).states.at(-1) === 'closed', 'the state', waitMs)
  })
})
