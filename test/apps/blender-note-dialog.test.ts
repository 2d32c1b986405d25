import { expect } from 'chai'
import { until } from '../helpers/until.ts'
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
})
