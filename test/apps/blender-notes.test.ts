import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { PNG } from 'pngjs'
import { until } from '../helpers/until.ts'
import { type LinkedBlender, needWindowedBlender, startLinkedBlender } from '../helpers/blender.ts'
import { boundsOfCube, differingPixels, isInside } from './note-pixels.ts'
import { toolCall } from '../helpers/mcp.ts'

const waitMs = 30_000

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
  const texts = async (): Promise<string[]> => (await shown()).lines.map((lines: any) => lines[0])

  /** The text that the dialog shows when it is drawn after `press`. */
  async function drawn(press: string): Promise<string> {
    const dialog = (): Promise<{ draws: number; text: string }> => linked.blender.ask('dialog')
    const { draws } = await dialog()
    await linked.blender.tell(`press ${press}`)
    await until(async () => (await dialog()).draws > draws, press, waitMs)
    return (await dialog()).text
  }

  /** Types into the field, ends it with Return, and takes OK with a second one. */
  async function write(text: string): Promise<void> {
    await linked.blender.tell(`press type --delay 50 --args 1 ${text} key Return`)
    const isTyped = async () => (await linked.blender.ask('dialog')).text === text
    await until(isTyped, 'the text', waitMs)
    await linked.blender.tell('press key Return')
    await until(async () => (await texts()).includes(text), 'the note', waitMs)
  }

  /** Shows the add-on's panel in the sidebar until it was drawn to its end. */
  async function drawPanel(): Promise<void> {
    const draws = (): Promise<number> => linked.blender.ask('panel_draws')
    const before = await draws()
    await until(async () => (await draws()) > before, 'the panel', waitMs)
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
  })

  it('is proved: what was asked for, what else changed, and where in the picture', async () => {
    await linked.blender.tell('raise_cube_and_box')
    const { text, data, content } = await call('answer_note', { id, text: 'Raised it' })
    expect(data.proof).to.deep.include({
      settled: true,
      asked: ['Cube moved 1.00 along z'],
      also_changed: ['Box moved 1.00 along z'],
    })
    expect(text).to.include('other changes:\n- Box moved')
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
      'Not looked at: materials, lights and modifiers of other objects',
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

  it('is written in a dialog, which opens without the text of the note before', async () => {
    await linked.blender.tell('step select Cube')
    await linked.blender.tell('watch_dialog')
    expect(await drawn('key F6')).to.equal('')
    await write('First')
    await linked.blender.tell('look_at_cube')
    expect(await drawn('key F7 click 1')).to.equal('')
    await write('Second')
  })

  it('made by a click on a surface is about that point and object', async () => {
    const { position, targets } = (await linked.blender.ask('shown')).at(-1)
    expect(targets).to.have.length(1)
    expect(targets[0]).to.include({ id: 'Cube', name: 'Cube' })
    const middle: number[] = await linked.blender.ask('place_of Cube')
    // A corner, an edge or a side of the cube of two metres.
    const apart = middle.map((value, axis) => Math.abs(value - position[axis]))
    expect(Math.max(...apart)).to.be.closeTo(1, 0.001)
  })

  it('made by pointing at a picture is about the object there, a lamp by its icon, or says none', async () => {
    const { view } = (await linked.blender.ask('shown')).at(-1)
    const middleOf = async (name: string) => {
      const place = await linked.blender.ask(`place_of ${name}`)
      const { left, top, width, height } = boundsOfCube(view, place, [0, 0, 0])
      return [(left + width / 2) / view.width, (top + height / 2) / view.height]
    }
    const pins = [await middleOf('Cube'), await middleOf('Light'), [0.001, 0.001]]
    const pinned: string[][] = []
    for (const pin of pins) {
      const made = (await linked.serving.post('notes', { text: 'Red', pin, view })) as any
      pinned.push(made.note.targets.map(({ name }: any) => name))
    }
    expect(pinned).to.deep.equal([['Cube'], ['Light'], []])
    const last = async () => (await shown()).lines.at(-1)[1]
    await until(async () => (await last()) === 'About: no object', 'the notes', waitMs)
  })

  it('comes with its file when that is saved for the first time', async () => {
    const before = await texts()
    await linked.blender.tell('save_as')
    const path = async () => JSON.parse((await read('scene://current')).text).document?.path
    await until(async () => (await path())?.endsWith('other.blend'), 'the path', waitMs)
    const isMoved = async () => (await texts()).join() === before.join()
    await until(isMoved, 'its notes', waitMs)
    const { notes } = (await call('list_notes', { state: 'all' })).data
    expect(notes).to.have.length(before.length)
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
    await until(async () => (await texts()).includes('The cube is too low'), 'its notes', waitMs)
  })

  it('is not shown while the link is down, and as it is when the link is back', async () => {
    await linked.serving.post('notes/2/answer', { text: 'Done' })
    const isNow = (state: string) =>
      until(async () => (await shown()).states[1] === state, state, waitMs)
    await isNow('answered')
    await drawPanel()
    await linked.stopServing()
    await until(async () => (await shown()).states.length === 0, 'none shown', waitMs)
    expect(await shown()).to.deep.include({
      pins: [],
      none: 'Not connected: notes are shown while the link is up.',
    })
    await drawPanel()
    const serving = await linked.serveAgain()
    await isNow('answered')
    await serving.post('notes/2/close', {})
    await isNow('closed')
    expect(linked.blender.run.output()).not.to.contain('Traceback')
  })
})
