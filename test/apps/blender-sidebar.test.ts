import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Serving, startServe } from '../clients/serve.ts'
import { until } from '../helpers/until.ts'
import { hasPrograms, installAddon, type InstalledAddon } from '../helpers/blender-addon.ts'
import { type Remote, startRemote } from '../helpers/blender-remote.ts'
import { skipBecause } from '../helpers/skip.ts'

/** Where the pictures stay, for people to look at. */
const results = fileURLToPath(new URL('../../results/', import.meta.url))
/** 220 is what Blender opens with, but for some pixels. */
const widths = [220, 300, 420]
const tabStep = 15

interface Sidebar {
  x: number
  y: number
  width: number
  height: number
  draws: number
}

describe('the sidebar of Blender', function () {
  this.timeout(120_000)
  let addon: InstalledAddon
  let serving: Serving
  let blender: Remote

  before(async function () {
    const tools = ['blender', 'xvfb-run', 'openbox', 'xdotool', 'import', 'convert']
    if (!hasPrograms(...tools)) skipBecause(this, `one of ${tools.join(', ')} is not installed`)
    await mkdir(results, { recursive: true })
    addon = await installAddon(300_000)
    const registryDir = join(addon.folder, 'registry')
    await mkdir(registryDir, { mode: 0o700 })
    serving = await startServe(registryDir)
    blender = await startRemote(addon, {
      args: ['--factory-startup', '--window-geometry', '0', '0', '800', '1000'],
      env: { SERVICE_REGISTRY_DIR: registryDir, LIBGL_ALWAYS_SOFTWARE: '1' },
      command: [
        'xvfb-run',
        '-a',
        '-s',
        '-screen 0 900x1100x24',
        'sh',
        '-c',
        'openbox & exec blender "$@"',
        'sh',
      ],
    })
    await blender.tell('watch_panel')
    await openTab()
  })
  after(async () => {
    const left = await blender?.quit()
    await serving?.stop()
    await addon?.remove()
    if (blender !== undefined) expect(left, blender.run.output()).to.equal(0)
  })

  const sidebar = (): Promise<Sidebar> => blender.ask('sidebar')

  /** Tabs are found by their place alone: presses further and further down until the panel draws. */
  async function openTab(): Promise<void> {
    for (let height = 30; height < 400; height += tabStep) {
      await blender.tell(`press_tab ${height}`)
      const drawn = async () => (await sidebar()).draws > 0
      if (
        await until(drawn, 'the panel', 1500).then(
          () => true,
          () => false,
        )
      )
        return
    }
    throw new Error('the tab of the add-on was not found')
  }

  /** By the mouse, again when a busy Blender missed the press on the edge. */
  async function widen(width: number): Promise<void> {
    const isWide = async () => Math.abs((await sidebar()).width - width) <= 3
    for (let tries = 0; tries < 5; tries++) {
      await blender.tell(`widen_sidebar ${width}`)
      const came = until(isWide, 'the width', 6000).then(
        () => true,
        () => false,
      )
      if (await came) return
    }
    throw new Error(`the sidebar did not become ${width} pixels wide`)
  }

  async function picture(name: string): Promise<string> {
    // Two drawings later the state that was told is on the screen.
    const { draws } = await sidebar()
    await until(async () => (await sidebar()).draws > draws + 1, 'the panel drawn anew', 20_000)
    await blender.tell('outside')
    const { x, y, width, height } = await sidebar()
    const path = join(results, `blender-sidebar-${name}.png`)
    const crop = `${width}x${height}+${x}+${y}`
    spawnSync('convert', [join(addon.folder, 'outside.png'), '-crop', crop, '+repage', path])
    return path
  }

  for (const [at, width] of widths.entries()) {
    it(`is drawn ${width} pixels wide: not connected, connected, and with a note`, async () => {
      await widen(width)
      const off = await picture(`${width}-off`)
      await blender.tell('connect')
      await until(() => blender.ask('is_connected'), 'the link', 20_000)
      const on = await picture(`${width}-connected`)
      await blender.tell('note')
      const noted = async () => (await blender.ask('notes')).states.at(-1)
      await until(async () => (await noted()) === 'open', 'the note', 20_000)
      await blender.tell('raise_cube_and_light')
      const answer = { text: 'Raised the cube by one metre, as you asked' }
      await serving.post(`notes/${at + 1}/answer`, answer)
      await until(async () => (await noted()) === 'answered', 'the answer', 20_000)
      await picture(`${width}-answered`)
      await serving.post(`notes/${at + 1}/close`, {})
      await blender.tell('disconnect')
      const { stderr } = spawnSync('compare', ['-metric', 'AE', off, on, 'null:'])
      expect(Number(String(stderr).split(' ')[0])).to.be.greaterThan(100)
    })
  }
})
