import { expect } from 'chai'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SdkClient } from '../clients/client-face.ts'
import { type Serving, startServe } from '../clients/serve.ts'
import {
  type InstalledAddon,
  type Remote,
  hasPrograms,
  installAddon,
  startRemote,
} from '../helpers/blender.ts'
import { skipBecause } from '../helpers/skip.ts'
import { Desktop, differing, eventually, needDisplayTools } from './display/desktop.ts'
import { connectWatcher } from './watcher.ts'

const uri = 'capture://current_window'

describe('the window of a real Blender, as it is seen from outside', function () {
  this.timeout(120_000)
  let desktop: Desktop
  let addon: InstalledAddon
  let registryDir: string
  let blender: Remote
  let blenderWindow: string
  let serving: Serving | null = null
  let client: SdkClient | null = null
  const displayBefore = process.env.DISPLAY

  before(async function () {
    needDisplayTools(this)
    if (!hasPrograms('blender')) skipBecause(this, 'blender is not installed')
    desktop = await Desktop.start('1400x900x24')
    await desktop.withWindowManager()
    desktop.startCompositor()
    // Of the servers that are started here.
    process.env.DISPLAY = desktop.env.DISPLAY
    addon = await installAddon(300_000)
    registryDir = join(addon.folder, 'registry')
    await mkdir(registryDir, { mode: 0o700 })
    const args = ['--factory-startup', '--window-geometry', '60', '80', '900', '600']
    const { DISPLAY } = desktop.env
    const env = { SERVICE_REGISTRY_DIR: registryDir, LIBGL_ALWAYS_SOFTWARE: '1', DISPLAY }
    blender = await startRemote(addon, { args, env })
    blenderWindow = await windowBeside('')
    await blender.tell('connect')
    await serve()
  })
  after(async () => {
    if (displayBefore === undefined) delete process.env.DISPLAY
    else process.env.DISPLAY = displayBefore
    await stopServing()
    await blender?.quit()
    await desktop?.stop()
    await addon?.remove()
  })

  async function stopServing(): Promise<void> {
    await client?.close()
    await serving?.stop()
    client = null
    serving = null
  }

  /** Another server, which Blender finds by itself. */
  async function serve(...flags: string[]): Promise<void> {
    await stopServing()
    serving = await startServe(registryDir, ['--capture', 'native', ...flags])
    ;({ client } = await connectWatcher(serving.url))
    await eventually(isListed, 'the window in the list')
  }

  /** A window of Blender that is not this one, once it is on the screen. */
  async function windowBeside(other: string): Promise<string> {
    let window = ''
    await eventually(async () => {
      const pid = String(blender.run.pid)
      const found = await desktop.run('xdotool', 'search', '--onlyvisible', '--pid', pid)
      window = found.split('\n').find(id => id !== '' && id !== other) ?? ''
      return window !== ''
    }, 'a window of Blender')
    return window
  }

  async function isListed(): Promise<boolean> {
    const { resources } = (await client?.listResources()) ?? { resources: [] }
    return resources.some(each => each.uri === uri)
  }

  async function read(): Promise<Buffer> {
    const { contents } = (await client?.readResource({ uri })) ?? { contents: [] }
    const [content] = contents
    if (content === undefined || !('blob' in content)) throw new Error('no blob')
    expect(content).to.include({ uri, mimeType: 'image/png' })
    return Buffer.from(content.blob as string, 'base64')
  }

  /** Blender at rest: the picture is that of ImageMagick, pixel for pixel. */
  async function sameAsImport(window = blenderWindow): Promise<void> {
    const [ours, theirs] = [join(addon.folder, 'ours.png'), join(addon.folder, 'theirs.png')]
    await eventually(async () => {
      await writeFile(ours, await read())
      await desktop.run('import', '-silent', '-window', window, theirs)
      return differing(ours, theirs) === 0
    }, 'the same picture')
  }

  it('is every pixel of it', () => sameAsImport())

  it('is whole while another program covers it', async () => {
    const [seen, covered] = [join(addon.folder, 'seen.png'), join(addon.folder, 'covered.png')]
    await writeFile(seen, await read())
    const cover = await desktop.program('cover', '200x200+300+300')
    await writeFile(covered, await read())
    await desktop.end(cover.child)
    expect(differing(seen, covered)).to.equal(0)
  })

  it('is its main window while another one of it has the keyboard', async () => {
    await blender.tell('open_window')
    const second = await windowBeside(blenderWindow)
    await desktop.run('xdotool', 'windowactivate', '--sync', second)
    await sameAsImport()
    await blender.tell('close_window')
  })

  it('is there by its title alone, without the link', async () => {
    await blender.tell('disconnect')
    await serve('--capture-title', 'blender')
    await sameAsImport()
    await blender.tell('connect')
  })

  it('goes with Blender', async () => {
    await serve()
    await blender.quit()
    await eventually(async () => !(await isListed()), 'the list without it')
    const error = await read().then(
      () => null,
      (failure: { code: number }) => failure,
    )
    expect(error).to.include({ code: -32002 })
  })
})
