import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'chai'
import { nothingFollowed } from '../../src/lib/mcp/change-words.ts'
import { nothingListed } from '../../src/lib/mcp/note-proof.ts'
import { type LinkedBlender, needWindowedBlender, startLinkedBlender } from '../helpers/blender.ts'
import { toolCall } from '../helpers/mcp.ts'
import { until } from '../helpers/until.ts'

const waitMs = 30_000

describe('an agent that only uses tools, beside a Blender with a window', function () {
  this.timeout(120_000)
  let linked: LinkedBlender
  let client: Client

  before(async function () {
    needWindowedBlender(this)
    linked = await startLinkedBlender({ deadlineMs: 380_000 })
    client = new Client({ name: 'agent', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(linked.serving.url)))
    await tell('save')
    const document = async () => (await call('query_scene', { pointer: '/document' })).text
    const isSaved = async () => (await document()).includes('shot.blend')
    await until(isSaved, 'the saved document', waitMs)
  })
  after(async () => {
    await client?.close()
    await linked?.stop()
  })

  const tell = (word: string) => linked.blender.tell(word)

  async function call(name: string, args: Record<string, unknown> = {}) {
    const { content, structuredContent } = (await client.callTool(
      toolCall(name, args) as never,
    )) as any
    return { content, text: String(content[0].text), data: structuredContent ?? {} }
  }

  /** Until the scene stands still: Blender sends it a little after a change. */
  async function settled(): Promise<number> {
    let { revision } = (await call('query_scene')).data
    for (;;) {
      const next = await call('wait_for_change', { since: revision, timeout_s: 1 })
      if (next.data.changed === false) return revision
      revision = next.data.revision
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

  it('hears of no change of the scene when the document is saved or shared', async () => {
    await tell('save')
    const before = await settled()
    await tell('share_document')
    const isShared = async () =>
      (await call('list_resources', { scheme: 'artefact' })).text.includes('shot.blend')
    await until(isShared, 'the artefact', waitMs)
    expect(await settled()).to.equal(before)
    await tell('step select Cube')
    expect(await said('save_copy')).to.deep.equal(nothing)
    expect(await said('save')).to.deep.equal(nothing)
    const [named] = await said('save_as')
    expect(named).to.include('other.blend')
  })

  it('is told in a proof what the scene does not show, and never that nothing changed', async () => {
    const targets = ['Cube']
    const add = async (): Promise<string> => {
      const { note } = (await linked.serving.post('notes', { text: 'Red', targets })) as any
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

  it('hears that the scene is not confirmed while Blender is busy, and not after that', async () => {
    await settled()
    const isDoubted = async () => /not confirm/.test((await call('scene_changes')).text)
    let isFrozen = true
    const frozen = tell('freeze').then(() => (isFrozen = false))
    await until(isDoubted, 'the doubt', waitMs)
    expect(isFrozen).to.equal(true)
    await frozen
    await until(async () => !(await isDoubted()), 'its word', waitMs)
  })

  it('is told when Blender goes', async () => {
    const waiting = call('wait_for_change', { since: await settled() })
    await tell('disconnect')
    expect((await waiting).data).to.include({ changed: true })
    expect((await call('query_scene')).data).to.include({ status: 'no_snapshot' })
  })

  it('finds what was done while the server was away, with the time when it was done', async () => {
    await tell('connect')
    await until(() => linked.blender.ask('is_connected'), 'the link', waitMs)
    await linked.stopServing()
    const began = await tell('save')
    const ended = Date.now()
    const { url } = await linked.serveAgain()
    const other = new Client({ name: 'later', version: '1' })
    await other.connect(new StreamableHTTPClientTransport(new URL(url)))
    const saves = async (): Promise<number[]> => {
      const { contents } = await other.readResource({ uri: 'audit://recent?limit=100' })
      const { entries } = JSON.parse((contents as any)[0].text)
      const ofSaves = entries.filter(({ action }: any) => action === 'file.save')
      return ofSaves.map(({ timestamp }: any) => Date.parse(timestamp))
    }
    await until(async () => (await saves()).some(at => at >= Math.floor(began)), 'the save', waitMs)
    expect(Math.max(...(await saves()))).to.be.at.most(ended)
    await other.close()
  })
})
