import { expect } from 'chai'
import { comparedOnly } from '../../../src/lib/mcp/note-proof.ts'
import { rgbPng } from '../../helpers/pictures.ts'
import { LinkClient } from '../../helpers/link.ts'
import { toolCall } from '../../helpers/mcp.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { statelessPost } from '../../helpers/stateless.ts'
import { until } from '../../helpers/until.ts'
import { usePerson } from './person.ts'

/** A grey picture of 16 by 8 pixels with white dots in its first row. */
function dotted(dots: readonly number[]): Buffer {
  const bytes = new Uint8Array(16 * 8 * 3).fill(100)
  for (const at of dots) bytes.fill(255, at * 3, at * 3 + 3)
  return rgbPng(bytes, 16, 8)
}

const lamp = (energy: number) => ({ id: 'Lamp', name: 'Lamp', parent: 'Rig', light: { energy } })
const cube = (x: number) => ({ id: 'Cube', name: 'Cube', translate: [x, 0, 0] })
const rig = { id: 'Rig', name: 'Rig', parent: null, materials: ['Gold'] }
const gold = (rough: number) => ({ id: 'Gold', name: 'Gold', rough })
const steel = (rough: number) => ({ id: 'Steel', name: 'Steel', rough })

describe('the proof of an answer', () => {
  const person = usePerson()
  const { env, post, call, read, tool } = person
  const paint = { dcc_type: 'paint', mode: 'gui', pid: process.pid }

  const setScene = (scene: object) => post('scene', scene)
  const add = (members: object = {}) => person.add({ author: 'ada', ...members })
  const answer = (id: string) => tool('answer_note', { id, text: 'Dimmed' })
  const reply = (id: string) => post(`notes/${id}/reopen`, { text: 'Not yet' })

  it('tells what belongs to the objects of the note from everything else', async () => {
    await setScene({ objects: [rig, lamp(1000), cube(0)], materials: [gold(0), steel(0)] })
    const note = await add({ targets: ['Rig'] })
    expect(note).to.include({ checkpoint: `note-${note.id}` })
    await setScene({
      objects: [{ ...rig, selected: true }, lamp(10), cube(1)],
      materials: [gold(0.5), steel(0.5)],
      selection: { ids: ['Rig'] },
    })
    const result = await answer(note.id)
    expect(result.content[0].text.split('\n')).to.deep.equal([
      `note ${note.number} (${note.id}) is answered; the person accepts it or replies`,
      `compared with scene revision ${result.structuredContent.proof.revision}`,
      'changed in the objects of the note:',
      '- materials: Gold rough 0 → 0.5',
      '- Lamp light.energy 1000 → 10',
      'other changes:',
      '- materials: Steel rough 0 → 0.5',
      '- Cube moved 1.00 along x',
      comparedOnly,
      'no picture: no application is connected',
    ])
    const kept = await read(`notes://${note.id}`)
    expect(kept.entries[0].proof).to.deep.equal(result.structuredContent.proof)
    expect(kept.entries[0].proof).to.deep.include({
      settled: true,
      also_changed: ['materials: Steel rough 0 → 0.5', 'Cube moved 1.00 along x'],
    })
  })

  it('has pictures from the view of the note, where the application draws them', async () => {
    const view = { matrix: [1, 0, 0] }
    const asked: unknown[] = []
    let dots = [1]
    const capture = { targets: ['viewport'], shots: true }
    const app = await LinkClient.connect(person.serve, { app: paint, capture })
    app.answer = ({ shot }) => {
      asked.push(shot)
      return { png: dotted(dots), view }
    }
    await app.done({ type: 'scene.set', scene: { objects: [cube(0)] } })
    const note = await add({ targets: ['Cube'], view })
    expect(note.no_picture).to.equal(undefined)
    expect(note).to.include({ before: `notes://${note.id}/before` })
    dots = [1, 5, 10]
    const unseen = await add({ targets: ['Cube'] })
    const [{ content, structuredContent }, same] = await Promise.all([
      answer(note.id),
      answer(unseen.id),
    ])
    const side = { of: ['Cube'], from: 'three-quarter' }
    expect(asked.slice(0, 3)).to.deep.equal([{ view }, side, { view }])
    const seen = await call('resources/read', { uri: `notes://${unseen.id}/after-1` })
    expect(Buffer.from(seen.result.contents[0].blob, 'base64')).to.deep.equal(dotted(dots))
    expect(same.structuredContent.proof.difference).to.include({ share: 0, box: null })
    expect(structuredContent.proof).to.deep.include({
      after: `notes://${note.id}/after-1`,
      difference: {
        uri: `notes://${note.id}/difference-1`,
        share: 2 / 128,
        box: { left: 5, top: 0, width: 6, height: 1 },
      },
    })
    expect(content[0].text).to.include('in the view of the note 1.6 % of the pixels changed')
    expect(content[1]).to.include({ type: 'image', mimeType: 'image/jpeg' })
    expect(content[2].text).to.equal(
      `\nnotes://${note.id}/difference-1, 16 × 8 pixels; what changed is within 6 × 1 at (5, 0)`,
    )
    const read = await call('resources/read', { uri: `notes://${note.id}/after-1` })
    expect(Buffer.from(read.result.contents[0].blob, 'base64').equals(dotted(dots))).to.equal(true)
    const look = await call('tools/call', {
      name: 'look',
      arguments: { of: ['Cube'], view: 'front' },
    })
    expect(look.result.content[1].text).to.match(/^viewport, 16 × 8 pixels/)
    await app.done({ type: 'app.update', capture: { ...capture, denied: true } })
    const { no_picture } = await add({ targets: ['Cube'], view })
    expect(no_picture).to.include('shares no picture')
  })

  it('has pictures of an application without a process id, which must draw from a given place', async () => {
    const app = await LinkClient.connect(person.serve, {
      app: { dcc_type: 'viewer', mode: 'gui' },
      capture: { targets: ['window', 'viewport'] },
    })
    app.answer = () => ({ png: dotted([]), view: { eye: 1 } })
    const { no_picture } = await add({ targets: ['Cube'] })
    expect(no_picture).to.equal(
      'the application draws its view only as it is on the screen: it offers no "shots"',
    )
    await app.done({ type: 'app.update', capture: { targets: ['viewport'], shots: true } })
    const note = await add({ targets: ['Cube'] })
    expect(note).to.include({ before: `notes://${note.id}/before` })
    await app.done({ type: 'app.update', capture: { targets: [] } })
    expect((await add({ targets: ['Cube'] })).no_picture).to.equal(
      'the application draws no picture of its scene',
    )
  })

  it('says when the application is gone, until another scene is sent', async () => {
    const app = await LinkClient.connect(person.serve, { app: paint, scene_refresh: true })
    await app.done({ type: 'scene.set', scene: { objects: [lamp(1000)] } })
    app.answer = () => ({})
    const note = await add({ targets: ['Lamp'] })
    expect(note.no_picture).to.equal('the application draws no picture of its scene')
    await app.bye()
    const gone = await answer(note.id)
    const { as_of } = gone.structuredContent.proof
    expect(gone.structuredContent.proof).to.include({ settled: true, connected: false })
    expect(gone.content[0].text).to.include(
      `the application is gone; the scene is its last, of ${as_of}`,
    )
    await setScene({ objects: [] })
    await reply(note.id)
    expect((await answer(note.id)).structuredContent.proof).not.to.have.property('as_of')
  })

  it('has no pictures with --capture off, and says so', async () => {
    const other = await serveInProcess({ env, flags: ['--capture', 'off'] })
    const { json } = await other.post('notes', { text: 'x', targets: ['Cube'] })
    expect(json.note).to.include({ no_picture: 'pictures are switched off' })
    const answered = await other.post(`notes/${json.note.id}/answer`, { text: 'done' })
    expect(answered.json.note.entries[0].proof).to.include({
      no_picture: 'pictures are switched off',
    })
  })

  it('says why it cannot compare', async () => {
    const note = await add({ targets: ['Cube'] })
    await fetch(`${person.serve.hostUrl}/v1/scene`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${person.serve.token}`,
        'Content-Type': 'application/json',
      },
      body: 'null',
    })
    const early = await add({ targets: ['Cube'] })
    expect(early).to.include({ checkpoint: null })
    const answers = await Promise.all([answer(note.id), answer(early.id)])
    const [unshared, none] = answers.map(({ content }) => content[0].text)
    expect(unshared).to.include('no scene is shared now')
    expect(none).to.include('no scene is kept with the note')
  })

  it('is made when its caller has left, and is not that of an earlier answer with the same words', async () => {
    await setScene({ objects: [cube(0)] })
    const note = await add({ targets: ['Cube'] })
    const entries = async () => (await read(`notes://${note.id}`)).entries
    const left = new AbortController()
    const post = statelessPost(
      'tools/call',
      toolCall('answer_note', { id: note.id, text: 'Dimmed' }),
    )
    const sent = fetch(person.serve.url, { ...post, signal: left.signal }).catch(() => 'left')
    // Kept at once; the proof waits until the scene is still.
    await until(async () => (await entries()).length === 1, 'the answer')
    left.abort()
    expect(await sent).to.equal('left')
    await until(async () => (await entries())[0].proof !== undefined, 'the proof')
    await reply(note.id)
    await setScene({ objects: [cube(3)] })
    const [, again] = [await answer(note.id), await answer(note.id)]
    expect(again.isError, 'it waits for the person').to.equal(true)
    const [first, , second, ...others] = await entries()
    expect([first.proof.asked, others]).to.deep.equal([[], []])
    expect(second.proof.asked).to.deep.equal(['Cube moved 3.00 along x'])
  })

  it('comes with each of two answers, in their order', async () => {
    await setScene({ objects: [cube(0)] })
    const note = await add({ targets: ['Cube'] })
    await setScene({ objects: [cube(3)] })
    await Promise.all([answer(note.id), answer(note.id)])
    const { entries } = await read(`notes://${note.id}`)
    expect(entries.map((each: any) => each.proof.asked)).to.deep.equal([
      ['Cube moved 3.00 along x'],
      ['Cube moved 3.00 along x'],
    ])
  })
})
