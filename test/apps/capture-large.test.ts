import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemTimer } from '../../src/lib/util/time.ts'
import type { Capture } from '../../src/server/capture/backend.ts'
import { createWindowBackends } from '../../src/server/capture/window-backends.ts'
import { differingPixels } from './display/compare.ts'
import { Desktop, eventually, needDisplayTools, type Program } from './display/desktop.ts'

const size = { width: 3840, height: 2160 }
/** What clients take, as base64. */
const blobBytes = 5_000_000

describe('a 4K window of noise on a real display', function () {
  this.timeout(90_000)
  let folder: string
  let desktop: Desktop
  let backends: ReturnType<typeof createWindowBackends>
  let program: Program
  const displayBefore = process.env.DISPLAY

  before(async function () {
    needDisplayTools(this)
    folder = await mkdtemp(join(tmpdir(), 'service-cli-capture-'))
    // Larger than the window, which the manager gives a frame.
    desktop = await Desktop.start('3860x2260x24')
    await desktop.withWindowManager()
    process.env.DISPLAY = desktop.env.DISPLAY
    backends = createWindowBackends({ env: desktop.env, timer: systemTimer })
    const raw = join(folder, 'noise.rgb')
    await writeFile(raw, randomBytes(size.width * size.height * 3))
    const form = ['-size', '3840x2160', '-depth', '8', `rgb:${raw}`]
    program = await desktop.shown('noise', '3840x2160+0+0', ...form)
    await eventually(() => isNoise(desktop, program, folder), 'noise in the window')
  })
  after(async () => {
    if (displayBefore === undefined) delete process.env.DISPLAY
    else process.env.DISPLAY = displayBefore
    await Promise.all([backends?.native.close?.(), backends?.x11.close?.()])
    await desktop?.stop()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  const take = async (name: 'x11' | 'native', maxBytes: number): Promise<Capture> => {
    if (name === 'native') return takeNative(desktop, program.pid, maxBytes)
    const form = { maxWidth: 8192, maxBytes, signal: AbortSignal.timeout(60_000) }
    const made = await backends[name].capture({ pid: program.pid, title: null }, form)
    if (!made.ok) throw new Error(`${made.failure.reason}: ${made.failure.message}`)
    return made.value
  }

  for (const name of ['x11', 'native'] as const) {
    it(`fits into what clients take, by ${name}`, async () => {
      const made = await take(name, 3_670_016)
      expect(made.window).to.include(size)
      expect(made.width).to.be.within(1000, 3839)
      const encoded = made.png.toString('base64').length
      expect(encoded).to.be.within(blobBytes / 2, blobBytes)
    })
  }

  it('is given as it is when there is room for it', async () => {
    const made = await take('x11', 100_000_000)
    expect(made).to.include(size)
    expect(await differingPixels(desktop, made, program.id, folder)).to.equal(0)
  })

  it('leaves the main thread free while the picture is made', async () => {
    let turns = 0
    const counting = setInterval(() => turns++, 5)
    try {
      await take('x11', 3_670_016)
    } finally {
      clearInterval(counting)
    }
    // Making it in this thread would leave a few turns, before and after.
    expect(turns).to.be.greaterThan(20)
  })
})

/** In its last corner, too: it is drawn from above. */
async function isNoise(desktop: Desktop, { id }: Program, folder: string): Promise<boolean> {
  const seen = join(folder, 'seen.ppm')
  await desktop.run('import', '-silent', '-window', id, '-crop', '64x64+3776+2096', seen)
  const { stdout } = spawnSync('identify', ['-format', '%k', seen], { encoding: 'utf8' })
  return Number(stdout) > 1000
}

async function takeNative(desktop: Desktop, pid: number, maxBytes: number): Promise<Capture> {
  const script = new URL('display/take-native.ts', import.meta.url)
  const env = { ...process.env, ...desktop.env }
  const args = [fileURLToPath(script), String(pid), String(maxBytes)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 2 ** 26 })
  const made = JSON.parse(stdout) as Omit<Capture, 'png'> & { png?: string }
  if (made.png === undefined) throw new Error(stdout)
  return { ...made, png: Buffer.from(made.png, 'base64') }
}
