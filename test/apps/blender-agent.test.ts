import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { PNG } from 'pngjs'
import { nothingFollowed } from '../../src/lib/mcp/change-words.ts'
import { nothingListed } from '../../src/lib/mcp/note-proof.ts'
import type { Serving } from '../clients/serve.ts'
import { type LinkedBlender, needWindowedBlender, startLinkedBlender } from '../helpers/blender.ts'
import { toolCall } from '../helpers/mcp.ts'
import { until } from '../helpers/until.ts'
import { boundsOfCube, differingPixels, isInside } from './note-pixels.ts'

const waitMs = 30_000

describe('an agent that only uses tools, beside a Blender with a window', function () {
  this.timeout(120_000)
  let linked: LinkedBlender
  let serving: Serving
  let client: Client

  before(async function () {
    needWindowedBlender(this)
    linked = await startLinkedBlender({ deadlineMs: 380_000 })
    await connect(linked.serving)
  })
  after(async () => {
    await client?.close()
    await linked?.stop()
  })

  async function connect(to: Serving): Promise<void> {
    await client?.close()
    serving = to
    client = new Client({ name: 'agent', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(to.url)))
  }
  const tell = (word: string) => linked.blender.tell(word)
  const ask = (word: string) => linked.blender.ask(word)

  async function call(name: string, args: Record<string, unknown> = {}) {
    const { content, structuredContent } = (await client.callTool(
      toolCall(name, args) as never,
    )) as any
    return { content, text: String(content[0].text), data: structuredContent ?? {} }
  }
  const read = async (uri: string) => ((await client.readResource({ uri })).contents as any[])[0]

  describe('and a note of the artist', () => {
    let id: string
    before(async () => {
      await tell('add_box')
      const hasBox = async () => (await call('query_scene', { name: 'Box' })).text.includes('"Box"')
      await until(hasBox, 'the scene', waitMs)
    })

    const note = async () => JSON.parse((await read(`notes://${id}`)).text)
    const picture = async (uri: string) =>
      PNG.sync.read(Buffer.from((await read(uri)).blob, 'base64'))
    const shown = async () => (await ask('notes')) as any
    const texts = async (): Promise<string[]> => (await shown()).lines.map((lines: any) => lines[0])

    /** The text that the dialog shows when it is drawn after `press`. */
    async function drawn(press: string): Promise<string> {
      const dialog = (): Promise<{ draws: number; text: string }> => ask('dialog')
      const { draws } = await dialog()
      await tell(`press ${press}`)
      await until(async () => (await dialog()).draws > draws, press, waitMs)
      return (await dialog()).text
    }

    /** Types into the field, ends it with Return, and takes OK with a second one. */
    async function write(text: string): Promise<void> {
      await tell(`press type --delay 50 --args 1 ${text} key Return`)
      const isTyped = async () => (await ask('dialog')).text === text
      await until(isTyped, 'the text', waitMs)
      await tell('press key Return')
      await until(async () => (await texts()).includes(text), 'the note', waitMs)
    }

    /** Shows the add-on's panel in the sidebar until it was drawn to its end. */
    async function drawPanel(): Promise<void> {
      const draws = (): Promise<number> => ask('panel_draws')
      const before = await draws()
      await until(async () => (await draws()) > before, 'the panel', waitMs)
    }

    it('wakes the agent that waits, with its objects, its place and a picture', async () => {
      const waiting = call('wait_for_change', { uris: ['notes://open'], timeout_s: 45 })
      await tell('note')
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
      await tell('raise_cube_and_box')
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
      await tell('accept_note')
      await until(async () => (await note()).state === 'accepted', 'the acceptance', waitMs)
      await until(async () => (await shown()).states[0] === 'accepted', 'the state', waitMs)
      expect((await shown()).pins).to.deep.equal([])
    })

    it('stays about its object when that is renamed, and says when it is gone and back', async () => {
      await tell('note')
      const says = async (words: string) => {
        await until(
          async () => (await shown()).lines.at(-1)?.[1] === `About: ${words}`,
          words,
          waitMs,
        )
      }
      await says('Cube')
      await tell('step rename Cube Hero 2')
      await says('Hero (was Cube)')
      const targets = async () => JSON.parse((await read('notes://2')).text).targets
      const hero = { id: 'Hero', name: 'Hero', was: 'Cube' }
      await until(async () => (await targets())[0].id === 'Hero', 'the name at the server', waitMs)
      expect((await targets())[0]).to.include(hero)
      expect((await call('list_notes')).text).to.include('about Hero')
      const { text } = await call('answer_note', { id: '2', text: 'Renamed it' })
      expect(text).to.include('Cube renamed Hero, moved 2.00 along x')
      await tell('step delete Hero')
      await says('Cube (gone)')
      await tell('undo')
      await says('Hero (was Cube)')
      await tell('step rename Hero Cube -2')
      await says('Cube')
      await serving.post('notes/2/reopen', {})
    })

    it('is written in a dialog, which opens without the text of the note before', async () => {
      await tell('step select Cube')
      await tell('watch_dialog')
      expect(await drawn('key F6')).to.equal('')
      await write('First')
      await tell('look_at_cube')
      expect(await drawn('key F7 click 1')).to.equal('')
      await write('Second')
    })

    it('made by a click on a surface is about that point and object', async () => {
      const { position, targets } = (await ask('shown')).at(-1)
      expect(targets).to.have.length(1)
      expect(targets[0]).to.include({ id: 'Cube', name: 'Cube' })
      const middle: number[] = await ask('place_of Cube')
      // A corner, an edge or a side of the cube of two metres.
      const apart = middle.map((value, axis) => Math.abs(value - position[axis]))
      expect(Math.max(...apart)).to.be.closeTo(1, 0.001)
    })

    it('made by pointing at a picture is about the object there, a lamp by its icon, or says none', async () => {
      const { view } = (await ask('shown')).at(-1)
      const middleOf = async (name: string) => {
        const place = await ask(`place_of ${name}`)
        const { left, top, width, height } = boundsOfCube(view, place, [0, 0, 0])
        return [(left + width / 2) / view.width, (top + height / 2) / view.height]
      }
      const pins = [await middleOf('Cube'), await middleOf('Light'), [0.001, 0.001]]
      const pinned: string[][] = []
      for (const pin of pins) {
        const made = (await serving.post('notes', { text: 'Red', pin, view })).json
        pinned.push(made.note.targets.map(({ name }: any) => name))
      }
      expect(pinned).to.deep.equal([['Cube'], ['Light'], []])
      const last = async () => (await shown()).lines.at(-1)[1]
      await until(async () => (await last()) === 'About: no object', 'the notes', waitMs)
    })

    it('comes with its file when that is saved for the first time', async () => {
      const before = await texts()
      await tell('save_as')
      const path = async () => JSON.parse((await read('scene://current')).text).document?.path
      await until(async () => (await path())?.endsWith('other.blend'), 'the path', waitMs)
      const isMoved = async () => (await texts()).join() === before.join()
      await until(isMoved, 'its notes', waitMs)
      const { notes } = (await call('list_notes', { state: 'all' })).data
      expect(notes).to.have.length(before.length)
    })

    it('is not shown while the scene is not shared, and neither is that of another document', async () => {
      await tell('share_scene off')
      const isWithdrawn = async () => (await read('scene://current')).text.includes('no_snapshot')
      await until(isWithdrawn, 'the scene withdrawn', waitMs)
      await serving.post('notes', { text: 'Of no document' })
      const none = 'Notes need the scene and document, which are not shared: see the preferences.'
      expect(await shown()).to.deep.include({ states: [], pins: [], none })
      await tell('share_scene on')
      await until(async () => !(await isWithdrawn()), 'the scene shared', waitMs)
      await until(async () => (await texts()).includes('The cube is too low'), 'its notes', waitMs)
    })

    it('is not shown while the link is down, and as it is when the link is back', async () => {
      await serving.post('notes/2/answer', { text: 'Done' })
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
      await connect(await linked.serveAgain())
      await isNow('answered')
      await serving.post('notes/2/close', {})
      await isNow('closed')
      expect(linked.blender.run.output()).not.to.contain('Traceback')
    })
  })

  describe('and the changes of the artist', () => {
    before(async () => {
      await tell('reset')
      await tell('save')
      const document = async () => (await call('query_scene', { pointer: '/document' })).text
      await until(async () => (await document()).includes('shot.blend'), 'the document', waitMs)
    })

    /** Once Blender has confirmed its scene: drawing in software takes longer than a call waits. */
    async function settled(): Promise<number> {
      for (;;) {
        const { data } = await call('query_scene')
        if (!JSON.stringify(data).includes('"as_of"')) return data.revision
      }
    }

    /** Lines of `scene_changes` about what is done, without its headline and the selection. */
    async function said(...steps: string[]): Promise<readonly string[]> {
      const since = await settled()
      for (const step of steps) await tell(step)
      await settled()
      const { text } = await call('scene_changes', { since })
      const [head = '', ...lines] = text.replace(/\ngo on with [^\n]*$/, '').split('\n')
      if (lines.length === 0) return [head.replace(/^[^:]*: /, '')]
      const words = lines.map(line => line.replace(/^- /, ''))
      return words.filter(line => !/^(selection: |active object )/.test(line))
    }
    const nothing = [nothingFollowed]

    it('waits, is woken by the artist, reads what changed, looks, and waits again', async () => {
      const since = await settled()
      const waiting = call('wait_for_change', { since })
      await tell('move')
      const woken = await waiting
      expect(woken.data).to.include({ changed: true })
      expect(woken.text).to.contain('Cube moved 1.00 along x')
      const { items } = (await call('query_scene', { ids: ['Cube'], fields: ['translate'] })).data
      expect(items).to.deep.equal([{ id: 'Cube', translate: [1, 0, 0] }])

      const { content } = await call('look', { max_width: 320 })
      expect(content[0]).to.include({ type: 'image', mimeType: 'image/jpeg' })
      expect(content[1].text).to.match(/^window, 320 × \d+ pixels, scene revision \d+$/)

      const again = call('wait_for_change', { since: await settled() })
      await tell('step rename Cube Hero 2')
      expect((await again).text).to.include('\n- Cube renamed Hero, moved 2.00 along x')
      await tell('undo')
    })

    it('hears what changed in an object that the scene does not show', async () => {
      const uri = 'blender-object://Light'
      await settled()
      const [{ text }] = (await call('read_resource', { uri })).content
      expect(JSON.parse(text).data).to.include({ energy: 1000 })
      const waiting = call('wait_for_change', { uris: [uri] })
      await call('read_resource', { uri })
      await tell('dim 10')
      expect((await waiting).text).to.match(
        /^changed: blender-object:\/\/Light \(read_resource has it\)\ngo on with since=\d+, run=\w+$/,
      )
    })

    it('hears nothing of a deletion that was undone, and of a name that was given back', async () => {
      await tell('step select Camera')
      expect(await said('step delete Cube')).to.deep.equal(['Cube (mesh) removed'])
      expect(await said('undo')).to.deep.equal(['Cube (mesh) added'])
      expect(await said('step delete Cube', 'undo')).to.deep.equal(nothing)
      expect(await said('step rename Cube Hero', 'undo')).to.deep.equal(nothing)
    })

    it('hears of copies, joined and separated objects what came and what went', async () => {
      expect(await said('step duplicate Cube')).to.include('Cube.001 (mesh) added')
      expect(await said('step join Cube Cube.001')).to.include('Cube.001 (mesh) removed')
      expect(await said('step separate Cube')).to.include('Cube.001 (mesh) added')
    })

    it('hears of no change of the scene when the document is saved', async () => {
      await tell('save')
      await tell('step select Cube')
      expect(await said('save_copy')).to.deep.equal(nothing)
      expect(await said('save')).to.deep.equal(nothing)
      const [named] = await said('save_as')
      expect(named).to.include('other.blend')
    })

    it('is told in a proof what the scene does not show, and never that nothing changed', async () => {
      const targets = ['Cube']
      const add = async (): Promise<string> => {
        const { note } = (await serving.post('notes', { text: 'Red', targets })).json
        return note.id
      }
      const proof = async (id: string) => {
        const { text } = await call('answer_note', { id, text: 'Done' })
        return text
          .split('\n')
          .filter(line => !/^($|note|compared with|in the view|no picture)/.test(line))
      }
      expect(await proof(await add())).to.deep.equal([
        `in the objects of the note ${nothingFollowed}`,
        `besides, ${nothingListed}`,
      ])
      const steps = {
        paint:
          /^- Cube materials\.Material\.Principled BSDF\.Base Color \(0\.8, 0\.8, 0\.8, 1\) → \(1, 0, 0, 1\)$/,
        bevel: /^- Cube modifiers.*Bevel/,
        subdivide: /^- Cube .*geometry\.vertices 8 → 26/,
      }
      for (const [step, words] of Object.entries(steps)) {
        const id = await add()
        await tell(`step ${step} Cube`)
        const [head, ...lines] = await proof(id)
        expect(head).to.equal('changed in the objects of the note:')
        expect(lines[0]).to.match(words)
        expect(lines.slice(1)).to.deep.equal([`besides, ${nothingListed}`])
      }
    })

    it('finds what was done while the server was away, with the time when it was done', async () => {
      await linked.stopServing()
      const began = await tell('save')
      const ended = Date.now()
      await connect(await linked.serveAgain())
      const saves = async (): Promise<number[]> => {
        const { entries } = JSON.parse((await read('audit://recent?limit=100')).text)
        const ofSaves = entries.filter(({ action }: any) => action === 'file.save')
        return ofSaves.map(({ timestamp }: any) => Date.parse(timestamp))
      }
      await until(
        async () => (await saves()).some(at => at >= Math.floor(began)),
        'the save',
        waitMs,
      )
      expect(Math.max(...(await saves()))).to.be.at.most(ended)
    })
  })
})
