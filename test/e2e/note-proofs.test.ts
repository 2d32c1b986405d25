import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

const lamp = (energy: number) => ({ id: 'Lamp', name: 'Lamp', parent: 'Rig', light: { energy } })
const cube = (x: number) => ({ id: 'Cube', name: 'Cube', translate: [x, 0, 0] })
const rig = { id: 'Rig', name: 'Rig', parent: null, materials: ['Gold'] }
const gold = (rough: number) => ({ id: 'Gold', name: 'Gold', rough })
const steel = (rough: number) => ({ id: 'Steel', name: 'Steel', rough })

describe('the proof of an answer', function () {
  this.timeout(60_000)
  let home: string
  let serve: ServeProcess
  let session: RawSession

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'proofs-'))
    const env = { HOME: home, XDG_DATA_HOME: join(home, 'data') }
    serve = await startServeProcess({ env, registryDir: home })
    session = await RawSession.open(serve.url)
  })
  after(async () => {
    await serve.stop()
    await rm(home, { recursive: true, force: true })
  })

  const setScene = (scene: object) => serve.post('scene', scene)
  const add = async (members: object = {}) =>
    (await serve.post('notes', { text: 'Too bright', author: 'ada', ...members })).json.note
  const answer = async (id: string) =>
    (
      await session.call('tools/call', {
        name: 'answer_note',
        arguments: { id, text: 'Dimmed' },
      })
    ).result

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
      `note ${note.number} is answered; the person accepts it or replies`,
      'changed in the objects of the note:',
      '- Lamp light.energy 1000 → 10',
      '- Gold rough 0 → 0.5',
      'also changed:',
      '- Cube moved 1.00 along x',
      '- Steel rough 0 → 0.5',
      'no picture: pictures are switched off',
    ])
    const kept = await session.readJson(`notes://${note.id}`)
    expect(kept.entries[0].proof).to.deep.equal(result.structuredContent.proof)
    expect(kept.entries[0].proof).to.deep.include({
      settled: true,
      also_changed: ['Cube moved 1.00 along x', 'Steel rough 0 → 0.5'],
    })
  })

  it('says why it cannot compare', async () => {
    const note = await add({ targets: ['Cube'] })
    await fetch(`${serve.hostUrl}/v1/scene`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${serve.token}`, 'Content-Type': 'application/json' },
      body: 'null',
    })
    const { text } = (await answer(note.id)).content[0]
    expect(text).to.include('no changes are known: the application has withdrawn its scene')
    const early = await add({ targets: ['Cube'] })
    expect(early).to.include({ checkpoint: null })
    expect((await answer(early.id)).content[0].text).to.include(
      'no changes are known: there was no scene when the note was made',
    )
  })

  it('comes with each of two answers, in their order', async () => {
    await setScene({ objects: [cube(0)] })
    const note = await add({ targets: ['Cube'] })
    await setScene({ objects: [cube(3)] })
    await Promise.all([answer(note.id), answer(note.id)])
    const { entries } = await session.readJson(`notes://${note.id}`)
    expect(entries.map((each: any) => each.proof.asked)).to.deep.equal([
      ['Cube moved 3.00 along x'],
      ['Cube moved 3.00 along x'],
    ])
  })
})
