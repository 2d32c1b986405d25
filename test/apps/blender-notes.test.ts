import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { PNG } from 'pngjs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Serving, startServe } from '../clients/serve.ts'
import { until } from '../e2e/until.ts'
import { hasPrograms, installAddon, type InstalledAddon } from '../helpers/blender-addon.ts'
import { blenderModes } from '../helpers/blender-modes.ts'
import { type Remote, startRemote } from '../helpers/blender-remote.ts'
import { skipBecause } from '../helpers/skip.ts'

const gui = blenderModes.find(({ mode }) => mode === 'gui')!
const waitMs = 30_000

describe('a note, from the artist in Blender to the proof and back', function () {
  this.timeout(120_000)
  let addon: InstalledAddon
  let serving: Serving
  let client: Client
  let blender: Remote
  let id: string

  before(async function () {
    if (!hasPrograms(...gui.needs)) {
      skipBecause(this, `one of ${gui.needs.join(', ')} is not installed`)
    }
    addon = await installAddon()
    const registryDir = join(addon.folder, 'registry')
    await mkdir(registryDir, { mode: 0o700 })
    serving = await startServe(registryDir, ['--dcc-type', 'blender', '--capture', 'host'])
    client = new Client({ name: 'agent', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)))
    const env = { SERVICE_REGISTRY_DIR: registryDir, LIBGL_ALWAYS_SOFTWARE: '1' }
    blender = await startRemote(addon, { args: gui.args, env, command: [...gui.command] })
    await blender.tell('hide_splash')
    await blender.tell('connect')
    await until(async () => (await call('query_scene')).data.schema === 'dcc-scene/1', 'the scene')
  })
  after(async () => {
    const left = await blender?.quit()
    await client?.close()
    await serving?.stop()
    await addon?.remove()
    if (blender !== undefined) expect(left, blender.run.output()).to.equal(0)
  })

  async function call(name: string, args: Record<string, unknown> = {}) {
    const { content, structuredContent, isError } = (await client.callTool({
      name,
      arguments: args,
    })) as any
    return { content, text: String(content[0].text), data: structuredContent ?? {}, isError }
  }
  const read = async (uri: string) => {
    const [content] = (await client.readResource({ uri })).contents as any[]
    return content
  }
  const note = async () => JSON.parse((await read(`notes://${id}`)).text)
  const picture = async (uri: string) =>
    PNG.sync.read(Buffer.from((await read(uri)).blob, 'base64'))

  it('wakes the agent that waits, with its objects, its place and a picture', async () => {
    const waiting = call('wait_for_change', { uris: ['notes://open'], timeout_s: 45 })
    await blender.tell('note')
    expect((await waiting).data).to.deep.include({ changed: true, uris: ['notes://open'] })
    const { notes } = (await call('list_notes')).data
    expect(notes).to.have.length(1)
    ;({ id } = notes[0])
    const made = await note()
    expect(made).to.deep.include({ number: 1, text: 'The cube is too low', position: [0, 0, 0] })
    expect(made.targets).to.deep.equal([{ id: 'Cube', name: 'Cube' }])
    expect(made.view.view_matrix).to.have.length(16)
    expect(made.no_picture).to.equal(undefined)
    expect((await picture(made.before)).width).to.be.above(300)
    await until(async () => (await blender.ask('notes')).pins[0] === '1', 'the pin', waitMs)
  })

  it('is proved: what was asked for, what else changed, and where in the picture', async () => {
    await blender.tell('raise_cube_and_light')
    const { text, data, content } = await call('answer_note', { id, text: 'Raised it' })
    expect(data.proof).to.deep.include({
      settled: true,
      asked: ['Cube moved 1.00 along z'],
      also_changed: ['Light moved -2.00 along x'],
    })
    expect(text).to.include('also changed:\n- Light moved')
    expect(content[1]).to.include({ type: 'image' })
    const { before } = await note()
    const [first, second] = [await picture(before), await picture(data.proof.after)]
    const { box, share } = data.proof.difference
    expect(share).to.be.above(0).and.below(0.5)
    for (let y = 0, at = 0; y < first.height; y++) {
      for (let x = 0; x < first.width; x++, at += 4) {
        const isInside =
          x >= box.left && x < box.left + box.width && y >= box.top && y < box.top + box.height
        if (isInside) continue
        const apart = [0, 1, 2].map(colour => first.data[at + colour]! - second.data[at + colour]!)
        if (apart.some(each => Math.abs(each) > 2)) throw new Error(`pixel ${x}, ${y} differs`)
      }
    }
  })

  it('shows the person the answer, and takes the word of the person', async () => {
    const shown = async () => (await blender.ask('notes')) as any
    await until(async () => (await shown()).lines[0]?.length > 4, 'the proof', waitMs)
    const { states, lines } = await shown()
    expect(states).to.deep.equal(['answered'])
    expect(lines[0].slice(2)).to.deep.equal([
      'Changed:',
      '- Cube moved 1.00 along z',
      'Also changed:',
      '- Light moved -2.00 along x',
    ])
    await blender.tell('accept_note')
    await until(async () => (await note()).state === 'accepted', 'the acceptance', waitMs)
    await until(async () => (await shown()).states[0] === 'accepted', 'the state', waitMs)
    expect((await shown()).pins).to.deep.equal([])
  })
})
