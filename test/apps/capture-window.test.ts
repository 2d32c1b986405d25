import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemTimer } from '../../src/lib/util/time.ts'
import type { Capture, CaptureBackend, CaptureTarget } from '../../src/server/capture/backend.ts'
import { createWindowBackends } from '../../src/server/capture/window-backends.ts'
import { differingPixels } from './display/compare.ts'
import { Desktop, needDisplayTools, eventually, type Program } from './display/desktop.ts'

// What every way to a window does, held against another program's picture.
for (const name of ['native', 'x11'] as const) {
  describe(`the ${name} backend on a real display`, function () {
    this.timeout(60_000)
    let folder: string
    let desktop: Desktop
    let backends: ReturnType<typeof createWindowBackends>
    let backend: CaptureBackend
    let program: Program
    const displayBefore = process.env.DISPLAY

    before(async function () {
      needDisplayTools(this)
      folder = await mkdtemp(join(tmpdir(), 'service-cli-capture-'))
      desktop = await Desktop.start('1280x800x24')
      // The package asks the environment of the process, whatever it is told.
      process.env.DISPLAY = desktop.env.DISPLAY
      backends = createWindowBackends({ env: desktop.env, timer: systemTimer })
      backend = backends[name]
    })
    after(async () => {
      if (displayBefore === undefined) delete process.env.DISPLAY
      else process.env.DISPLAY = displayBefore
      await Promise.all([backends?.native.close?.(), backends?.x11.close?.()])
      await desktop?.stop()
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    })

    const outcome = async (target: CaptureTarget, more: { maxWidth?: number } = {}) => {
      const form = { maxWidth: 8192, maxBytes: 3_500_000, signal: AbortSignal.timeout(30_000) }
      const captured = await backend.capture(target, { ...form, ...more })
      return captured.ok ? captured.value : captured.failure.reason
    }
    const picture = async (pid: number, more = {}): Promise<Capture> => {
      const made = await outcome({ pid, title: null }, more)
      if (typeof made === 'string') throw new Error(made)
      return made
    }
    const reason = async (pid: number): Promise<string> => {
      const made = await outcome({ pid, title: null })
      return typeof made === 'string' ? made : 'a picture'
    }

    /** Managers take their time to do what they are asked for. */
    const becomes = (expected: string): Promise<void> =>
      eventually(async () => (await reason(program.pid)) === expected, expected)

    it('is not available without a window manager, and is as soon as one runs', async () => {
      const before = await backend.probe({ pid: 1, title: null })
      expect(before).to.have.nested.property('failure.reason', 'no_window_manager')
      await desktop.withWindowManager()
      const after = await backend.probe({ pid: 1, title: null })
      expect(after).to.deep.equal({ ok: true, value: null })
    })

    it('gives every pixel of the window of a process as it is', async () => {
      program = await desktop.program('first', '600x400+300+200')
      const made = await picture(program.pid)
      expect(made).to.deep.include({ width: 600, height: 400 })
      expect(made.window).to.deep.equal({ title: 'first', width: 600, height: 400 })
      expect(await differingPixels(desktop, made, program.id, folder)).to.equal(0)
    })

    it('finds it for a process that started the one with the window, and for no other', async () => {
      expect(await reason(process.pid)).to.equal('a picture')
      expect(await reason(2 ** 22 - 1)).to.equal('no_window')
    })

    it('never takes a window that tells no process, also not by the one that has it', async () => {
      const child = desktop.start('xlogo', '-title', 'silent', '-geometry', '80x80+5+5')
      await desktop.windowOf('silent')
      expect(await reason(child.pid ?? 0)).to.equal('no_window')
      const byTitle = await outcome({ pid: null, title: 'SILENT' })
      expect(byTitle).to.have.nested.property('window.title', 'silent')
      await desktop.end(child)
    })

    it('never takes a window whose process is on another machine', async () => {
      const other = await desktop.program('remote', '80x80+5+5')
      const machine = 'WM_CLIENT_MACHINE'
      await desktop.run('xprop', '-id', other.id, '-f', machine, '8s', '-set', machine, 'farm-7')
      expect(await reason(other.pid)).to.equal('no_window')
      await desktop.end(other.child)
    })

    it('refuses a covered window, and gives it again once it is free', async () => {
      const other = await desktop.program('above', '100x100+400+300')
      await becomes('covered')
      await desktop.run('xdotool', 'windowmove', '--sync', other.id, '1000', '20')
      await becomes('a picture')
      await desktop.end(other.child)
    })

    it('takes no window of a program that the application started for its own, nor one under it', async () => {
      const child = await desktop.program('child', '100x100+400+300')
      // The window belongs to the process that started the other program.
      await desktop.tellProcess(program.id, process.pid)
      await desktop.run('xdotool', 'windowactivate', '--sync', child.id)
      await eventually(async () => (await reason(process.pid)) === 'covered', 'covered')
      await desktop.run('xdotool', 'windowmove', '--sync', child.id, '1000', '20')
      await eventually(async () => (await reason(process.pid)) === 'a picture', 'a picture')
      expect((await picture(process.pid)).window.title).to.equal('first')
      await desktop.tellProcess(program.id, program.pid)
      await desktop.end(child.child)
    })

    it('refuses a window under something that no window manager lists', async () => {
      const place = ['-geometry', '43x47+500+400']
      const menu = desktop.start('xlogo', ...place, '-xrm', '*overrideRedirect: true')
      // It has no name: its size tells it.
      const id = await desktop.windowOfSize('43x47')
      await becomes('covered')
      // The application's own menus belong into its picture.
      await desktop.tellProcess(id, program.pid)
      const made = await picture(program.pid)
      expect(await differingPixels(desktop, made, program.id, folder)).to.equal(0)
      await desktop.end(menu)
    })

    it('refuses a window that is partly outside the screen', async () => {
      await desktop.run('xdotool', 'windowmove', '--sync', program.id, '900', '200')
      await becomes('failed')
      await desktop.run('xdotool', 'windowmove', '--sync', program.id, '300', '200')
      await becomes('a picture')
    })

    it('says when the window is minimised', async () => {
      await desktop.run('xdotool', 'windowminimize', '--sync', program.id)
      // The manager says so before it has put the window away, or afterwards.
      await becomes('minimised')
      await desktop.run('xdotool', 'windowactivate', '--sync', program.id)
      await becomes('a picture')
    })

    it('gives covered and off-screen windows whole where a compositor runs', async () => {
      const free = await picture(program.pid)
      const compositor = desktop.startCompositor()
      const other = await desktop.program('above', '100x100+400+300')
      await becomes('a picture')
      const covered = await picture(program.pid)
      expect(covered.png.equals(free.png)).to.equal(true)
      expect(await differingPixels(desktop, covered, program.id, folder)).to.equal(0)
      await desktop.run('xdotool', 'windowmove', '--sync', program.id, '1000', '600')
      // ImageMagick takes only what is inside the screen: the earlier picture is the measure.
      expect((await picture(program.pid)).png.equals(free.png)).to.equal(true)
      await desktop.end(other.child)
      await desktop.end(compositor)
      await desktop.run('xdotool', 'windowmove', '--sync', program.id, '300', '200')
    })

    it('says that a closed window is gone', async () => {
      await desktop.end(program.child)
      await becomes('no_window')
    })

    it('is not available once the display is gone', async () => {
      await desktop.stop()
      const probed = await backend.probe({ pid: 1, title: null })
      expect(probed).to.have.nested.property('failure.reason', 'no_display')
      expect(await reason(1)).to.equal('no_display')
    })
  })
}

describe('a 4K window of noise on a real display', function () {
  this.timeout(90_000)
  const size = { width: 3840, height: 2160 }
  let folder: string
  let desktop: Desktop
  let backend: CaptureBackend
  let program: Program

  before(async function () {
    needDisplayTools(this)
    folder = await mkdtemp(join(tmpdir(), 'service-cli-capture-'))
    // Larger than the window, which the manager gives a frame.
    desktop = await Desktop.start('3860x2260x24')
    await desktop.withWindowManager()
    backend = createWindowBackends({ env: desktop.env, timer: systemTimer }).x11
    const raw = join(folder, 'noise.rgb')
    await writeFile(raw, randomBytes(size.width * size.height * 3))
    const form = ['-size', '3840x2160', '-depth', '8', `rgb:${raw}`]
    program = await desktop.shown('noise', '3840x2160+0+0', ...form)
    const seen = join(folder, 'seen.ppm')
    await eventually(async () => {
      // In its last corner, too: it is drawn from above.
      const corner = ['-crop', '64x64+3776+2096', seen]
      await desktop.run('import', '-silent', '-window', program.id, ...corner)
      const { stdout } = spawnSync('identify', ['-format', '%k', seen], { encoding: 'utf8' })
      return Number(stdout) > 1000
    }, 'noise in the window')
  })
  after(async () => {
    await backend?.close?.()
    await desktop?.stop()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  const take = async (maxBytes: number): Promise<Capture> => {
    const form = { maxWidth: 8192, maxBytes, signal: AbortSignal.timeout(60_000) }
    const made = await backend.capture({ pid: program.pid, title: null }, form)
    if (!made.ok) throw new Error(`${made.failure.reason}: ${made.failure.message}`)
    return made.value
  }

  it('fits into what clients take', async () => {
    const made = await take(3_670_016)
    expect(made.window).to.include(size)
    expect(made.width).to.be.within(1000, 3839)
    expect(made.png.toString('base64').length).to.be.within(2_500_000, 5_000_000)
  })

  it('is given as it is when there is room for it', async () => {
    const made = await take(100_000_000)
    expect(made).to.include(size)
    expect(await differingPixels(desktop, made, program.id, folder)).to.equal(0)
  })
})
