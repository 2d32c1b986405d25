import { expect } from 'chai'
import { until } from '../helpers/until.ts'
import { boundsOfCube } from './note-pixels.ts'
import {
  type LinkedBlender,
  needWindowedBlender,
  startLinkedBlender,
} from '../helpers/linked-blender.ts'

const waitMs = 30_000

describe('the dialog of a note in Blender', function () {
  this.timeout(120_000)
  let linked: LinkedBlender

  before(async function () {
    needWindowedBlender(this)
    linked = await startLinkedBlender()
    await linked.blender.tell('watch_dialog')
  })
  after(async () => linked?.stop())

  const dialog = (): Promise<{ draws: number; text: string }> => linked.blender.ask('dialog')
  const texts = async () => (await linked.blender.ask('notes')).lines.map((lines: any) => lines[0])

  /** The text that it shows when it is drawn after `press`. */
  async function drawn(press: string): Promise<string> {
    const { draws } = await dialog()
    await linked.blender.tell(`press ${press}`)
    await until(async () => (await dialog()).draws > draws, press, waitMs)
    return (await dialog()).text
  }

  /** Types into the field, ends it with Return, and takes OK with a second one. */
  async function write(text: string): Promise<void> {
    await linked.blender.tell(`press type --delay 50 --args 1 ${text} key Return`)
    await until(async () => (await dialog()).text === text, 'the text', waitMs)
    await linked.blender.tell('press key Return')
    await until(async () => (await texts()).includes(text), 'the note', waitMs)
  }

  it('opens without the text of the note before', async () => {
    expect(await drawn('key F6')).to.equal('')
    await write('First')
    expect(await drawn('key F6')).to.equal('')
    await write('Second')
    expect(await texts()).to.deep.equal(['First', 'Second'])
  })

  it('opens after a click on a surface: the note is about that point and object', async () => {
    await linked.blender.tell('look_at_cube')
    expect(await drawn('key F7 click 1')).to.equal('')
    await write('Third')
    const [, , { position, targets }] = await linked.blender.ask('shown')
    expect(targets).to.have.length(1)
    expect(targets[0]).to.include({ id: 'Cube', name: 'Cube' })
    // A corner, an edge or a side of the cube of two metres.
    const size = Math.max(...position.map(Math.abs))
    expect(size).to.be.closeTo(1, 0.001)
  })

  it('made by pointing at a picture is about the object there, a lamp by its icon, or says none', async () => {
    const [{ view }] = await linked.blender.ask('shown')
    const middleOf = async (name: string) => {
      const place = await linked.blender.ask(`place_of ${name}`)
      const { left, top, width, height } = boundsOfCube(view, place, [0, 0, 0])
      return [(left + width / 2) / view.width, (top + height / 2) / view.height]
    }
    const pinned = async (pin: readonly number[]) => {
      const { note } = (await linked.serving.post('notes', { text: 'Red', pin, view })) as any
      return note.targets.map(({ name }: any) => name)
    }
    expect(await pinned(await middleOf('Cube'))).to.deep.equal(['Cube'])
    expect(await pinned(await middleOf('Light'))).to.deep.equal(['Light'])
    expect(await pinned([0.001, 0.001])).to.deep.equal([])
    await until(async () => (await texts()).length === 6, 'the notes', waitMs)
    const { lines } = await linked.blender.ask('notes')
    expect(lines.slice(3).map((each: any) => each[1])).to.deep.equal([
      'About: Cube',
      'About: Light',
      'About: no object',
    ])
  })
})
