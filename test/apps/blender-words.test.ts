import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nothingFollowed } from '../../src/lib/mcp/change-words.ts'
import { nothingListed } from '../../src/lib/mcp/note-proof.ts'
import { until } from '../helpers/until.ts'
import {
  type LinkedBlender,
  needWindowedBlender,
  startLinkedBlender,
} from '../helpers/linked-blender.ts'

const waitMs = 30_000

describe('the words about what an artist does in Blender', function () {
  this.timeout(200_000)
  let linked: LinkedBlender
  let client: Client

  before(async function () {
    needWindowedBlender(this)
    linked = await startLinkedBlender({ deadlineMs: 380_000 })
    client = new Client({ name: 'agent', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(linked.serving.url)))
    await linked.blender.tell('save')
    const isSaved = async () => (await read('scene://current')).document?.name === 'shot.blend'
    await until(isSaved, 'the saved document', waitMs)
  })
  after(async () => {
    await client?.close()
    await linked?.stop()
  })

  async function call(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const { content } = (await client.callTool({ name, arguments: args })) as any
    return String(content[0].text)
  }
  const read = async (uri: string) => {
    const { contents } = (await client.readResource({ uri })) as any
    return { ...JSON.parse(contents[0].text), _meta: contents[0]._meta }
  }
  const revision = async (): Promise<number> =>
    (await read('scene://current?view=summary'))._meta['service-cli/scene'].revision
  /** Until the scene stands still: Blender sends it a little after a change. */
  async function settled(): Promise<number> {
    for (let last = await revision(); ;) {
      await sleep(1000)
      const next = await revision()
      if (next === last) return next
      last = next
    }
  }
  /** Lines of `scene_changes` about what is done, without its headline and the selection. */
  async function said(...steps: string[]): Promise<readonly string[]> {
    const since = await settled()
    for (const step of steps) await linked.blender.tell(step)
    await settled()
    const [head = '', ...lines] = (await call('scene_changes', { since })).split('\n')
    if (lines.length === 0) return [head.replace(/^[^:]*: /, '')]
    const words = lines.map(line => line.replace(/^- /, ''))
    return words.filter(line => !/^(selection: |active object )/.test(line))
  }
  const nothing = [nothingFollowed]

  it('are none for a deletion that was undone, and for a name that was given back', async () => {
    await linked.blender.tell('step select Camera')
    expect(await said('step delete Cube')).to.deep.equal(['Cube (mesh) removed'])
    expect(await said('undo')).to.deep.equal(['Cube (mesh) added'])
    expect(await said('step delete Cube', 'undo')).to.deep.equal(nothing)
    expect(await said('step rename Cube Hero', 'step rename Hero Cube')).to.deep.equal(nothing)
    expect(await said('step rename Cube Hero', 'undo')).to.deep.equal(nothing)
  })

  it('tell of one object that it is renamed and moved', async () => {
    const moved = ['Cube renamed Hero, moved 2.00 along x']
    expect(await said('step rename Cube Hero 2')).to.deep.equal(moved)
    expect(await said('undo')).to.deep.equal(['Hero renamed Cube, moved -2.00 along x'])
    const waiting = call('wait_for_change', { since: await settled() })
    await linked.blender.tell('step rename Cube Hero 2')
    expect(await waiting).to.include('\n- Cube renamed Hero, moved 2.00 along x')
    await linked.blender.tell('undo')
  })

  it('tell of copies, joined and separated objects what came and what went', async () => {
    expect(await said('step duplicate Cube')).to.include('Cube.001 (mesh) added')
    expect(await said('step join Cube Cube.001')).to.include('Cube.001 (mesh) removed')
    expect(await said('step separate Cube')).to.include('Cube.001 (mesh) added')
  })

  it('do not call a save, a copy or what is shared a change of the scene', async () => {
    await linked.blender.tell('save')
    const before = await settled()
    await linked.blender.tell('share_document')
    await until(
      async () => (await call('list_resources', { scheme: 'artefact' })).includes('shot.blend'),
      'the artefact',
      waitMs,
    )
    expect(await settled()).to.equal(before)
    await linked.blender.tell('step select Cube')
    await settled()
    expect(await said('save_copy')).to.deep.equal(nothing)
    expect(await said('save')).to.deep.equal(nothing)
    const [named] = await said('save_as')
    expect(named).to.include('other.blend')
    const { entries } = await read('audit://recent?limit=100')
    const saves = entries.filter(({ action }: any) => action.startsWith('file.save'))
    const [shot, other] = ['shot.blend', 'other.blend'].map(name => join(linked.addon.folder, name))
    expect(saves.map(({ action, params }: any) => [action, params]).slice(-3)).to.deep.equal([
      ['file.save_copy', { copy_of: shot }],
      ['file.save', { path: shot }],
      ['file.save', { path: other }],
    ])
  })

  it('of a proof tell what the scene does not show, and never that nothing changed', async () => {
    const targets = ['Cube']
    const add = async (): Promise<string> => {
      const { note } = (await linked.serving.post('notes', { text: 'Red', targets })) as any
      return note.id
    }
    const proof = async (id: string) => {
      const answer = await call('answer_note', { id, text: 'Done' })
      return answer
        .split('\n')
        .filter(line => !/^($|note|compared with|in the view|no picture)/.test(line))
    }
    expect(await proof(await add())).to.deep.equal([
      `in the objects of the note ${nothingFollowed}`,
    ])
    for (const [step, words] of [
      [
        'paint',
        /^- Cube materials\.Material\.Principled BSDF\.Base Color \(0\.8, 0\.8, 0\.8, 1\) → \(1, 0, 0, 1\)$/,
      ],
      ['bevel', /^- Cube modifiers.*Bevel/],
      ['subdivide', /^- Cube .*geometry\.vertices 8 → 26/],
    ] as const) {
      const id = await add()
      await linked.blender.tell(`step ${step} Cube`)
      const [head, ...lines] = await proof(id)
      expect(head).to.equal('changed in the objects of the note:')
      expect(lines[0]).to.match(words)
      expect(lines.slice(1)).to.deep.equal([`besides, ${nothingListed}`])
    }
  })
})
