import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Capture, CaptureTarget } from '../../src/server/capture/backend.ts'
import { checkCompositor } from '../../src/server/capture/compositor.ts'
import { nativeBackend } from '../../src/server/capture/native-backend.ts'
import { pictureFacts } from '../../src/server/capture/pictures.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { LinkClient } from '../helpers/link.ts'
import { RawSession } from '../helpers/mcp.ts'
import {
  Desktop,
  differingPixels,
  eventually,
  needDisplayTools,
  type Program,
} from './display/desktop.ts'

describe('windows on a real display', function () {
  this.timeout(60_000)
  let folder: string
  let desktop: Desktop
  let program: Program
  let compositor: ReturnType<Desktop['startCompositor']>
  const displayBefore = process.env.DISPLAY

  before(async function () {
    needDisplayTools(this)
    folder = await mkdtemp(join(tmpdir(), 'service-cli-capture-'))
    desktop = await Desktop.start('1280x800x24')
    process.env.DISPLAY = desktop.env.DISPLAY
  })
  after(async () => {
    if (displayBefore === undefined) delete process.env.DISPLAY
    else process.env.DISPLAY = displayBefore
    await desktop?.stop()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  const outcome = async (target: CaptureTarget, more: { maxWidth?: number } = {}) => {
    const form = { maxWidth: 8192, maxBytes: 3_500_000, signal: AbortSignal.timeout(30_000) }
    const captured = await nativeBackend.capture(target, { ...form, ...more })
    return captured.ok ? captured.value : captured.failure
  }
  const picture = async (pid: number, more = {}): Promise<Capture> => {
    const made = await outcome({ pid, title: null }, more)
    if (!('png' in made)) throw new Error(made.message)
    return made
  }
  const sizeOf = (made: object) => {
    if (!('png' in made)) throw new Error(JSON.stringify(made))
    const { width, height } = pictureFacts(made.png as Buffer) ?? {}
    return [width, height]
  }
  const reason = async (pid: number): Promise<string> => {
    const made = await outcome({ pid, title: null })
    return 'png' in made ? 'a picture' : made.reason
  }
  const probed = async (target: CaptureTarget = { pid: 1, title: null }) => {
    const found = await nativeBackend.probe(target)
    return found.ok ? 'found' : found.failure.reason
  }
  /** Managers take their time to do what they are asked for. */
  const becomes = (expected: string): Promise<void> =>
    eventually(async () => (await reason(program.pid)) === expected, expected)

  it('are not looked at without a compositor, nor without a window manager', async () => {
    expect(await probed()).to.equal('no_compositor')
    expect(await outcome({ pid: 1, title: null }))
      .to.include({ reason: 'failed' })
      .with.property('message')
      .that.includes('no compositor')
    compositor = desktop.startCompositor()
    await eventually(async () => (await probed()) !== 'no_compositor', 'a compositor')
    expect(await probed()).to.equal('no_window_manager')
    await desktop.withWindowManager()
    expect(await probed()).to.equal('no_window')
  })

  it('are captured pixel for pixel, for the process that has them and no other', async () => {
    program = await desktop.program('first', '600x400+300+200')
    await becomes('a picture')
    const made = await picture(program.pid)
    expect(sizeOf(made)).to.deep.equal([600, 400])
    expect(await differingPixels(desktop, made, program.id, folder)).to.equal(0)
    expect(await probed({ pid: program.pid, title: null })).to.equal('found')
    expect(await reason(2 ** 22 - 1)).to.equal('no_window')
  })

  it('are read through a server by the process of the linked application, until that goes', async () => {
    const uri = 'capture://current_window'
    const serve = await serveInProcess({ flags: ['--capture', 'native'] })
    const session = await RawSession.open(serve.url)
    const isListed = async () =>
      JSON.stringify((await session.call('resources/list')).result).includes(uri)
    const said = { dcc_type: 'maya', mode: 'gui', pid: program.pid }
    const app = await LinkClient.connect(serve, { app: said })
    await eventually(isListed, 'the window in the list')
    const { result } = await session.call('resources/read', { uri })
    const png = Buffer.from(result.contents[0].blob, 'base64')
    expect(await differingPixels(desktop, { png }, program.id, folder)).to.equal(0)
    await app.bye()
    await eventually(async () => !(await isListed()), 'the list without it')
    await serve.stop()
  })

  it('are found by a part of their title where they tell no process', async () => {
    const child = desktop.start('xlogo', '-title', 'silent', '-geometry', '80x80+5+5')
    await desktop.tellTitle(await desktop.windowOf('silent'), 'silent')
    expect(await reason(child.pid ?? 0)).to.equal('no_window')
    expect(sizeOf(await outcome({ pid: null, title: 'SILENT' }))).to.deep.equal([80, 80])
    await desktop.end(child)
  })

  it('are scaled down to the width that is asked for', async () => {
    const made = await picture(program.pid, { maxWidth: 150 })
    expect(sizeOf(made)).to.deep.equal([150, 100])
  })

  it('count as the window of an application when they are its largest', async () => {
    const second = await desktop.program('preferences', '200x100+20+20')
    await desktop.tellProcess(second.id, program.pid)
    await desktop.run('xdotool', 'windowactivate', '--sync', second.id)
    expect(sizeOf(await picture(program.pid))).to.deep.equal([600, 400])
    await desktop.end(second.child)
  })

  it('have none of the pixels of a program that covers them, and none missing', async () => {
    const free = await picture(program.pid)
    const other = await desktop.program('above', '100x100+400+300')
    const covered = await picture(program.pid)
    expect(covered.png.equals(free.png)).to.equal(true)
    await desktop.run('xdotool', 'windowmove', '--sync', program.id, '1000', '600')
    expect((await picture(program.pid)).png.equals(free.png)).to.equal(true)
    await desktop.end(other.child)
  })

  it('say when they are minimised', async () => {
    await desktop.run('xdotool', 'windowminimize', '--sync', program.id)
    // The manager says so before it has put the window away, or afterwards.
    await becomes('minimised')
    await desktop.run('xdotool', 'windowactivate', '--sync', program.id)
    await becomes('a picture')
  })

  it('are looked at with the key of a display that asks for one', async () => {
    const field = (text: string | Buffer) => [Buffer.from([0, text.length]), Buffer.from(text)]
    const keys = join(folder, 'keys')
    const anyAddress = Buffer.from([0xff, 0xff])
    const key = [
      ...field(''),
      ...field(''),
      ...field('MIT-MAGIC-COOKIE-1'),
      ...field(randomBytes(16)),
    ]
    await writeFile(keys, Buffer.concat([anyAddress, ...key]))
    const locked = await Desktop.start('640x480x24', '-auth', keys)
    const reasonWith = async (XAUTHORITY: string) => {
      const found = await checkCompositor({ DISPLAY: locked.env.DISPLAY, XAUTHORITY })
      return found.ok ? 'found' : found.failure.reason
    }
    expect(await reasonWith(keys)).to.equal('no_compositor')
    expect(await reasonWith('/nowhere')).to.equal('no_display')
    expect(await checkCompositor({ DISPLAY: 'farm-7:0' })).to.have.nested.property(
      'failure.reason',
      'no_display',
    )
    await locked.stop()
  })

  it('are not captured any more once they, the compositor or the display are gone', async () => {
    await desktop.end(program.child)
    await becomes('no_window')
    await desktop.end(compositor)
    expect(await probed()).to.equal('no_compositor')
    await desktop.stop()
    expect(await probed()).to.equal('no_display')
    expect(await reason(1)).to.equal('no_display')
  })
})
