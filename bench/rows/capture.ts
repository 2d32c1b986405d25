import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Desktop, eventually } from '../../test/apps/display/desktop.ts'
import { hasPrograms } from '../../test/helpers/blender-addon.ts'
import type { Bench, Load } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { sceneUri } from '../fixture.ts'
import { askOnce, postScene } from '../host-link.ts'
import type { Call } from '../load/eras.ts'
import type { Figures } from '../stats.ts'
import type { Measured } from '../table.ts'
import type { Target } from '../targets.ts'
import { callTexts, openSessions, underLoad } from './requests.ts'

const needs = ['Xvfb', 'openbox', 'xprop', 'xdotool', 'convert', 'display']
const title = 'four thousand pixels'
const era = 'session'
const scene: Call = { method: 'resources/read', params: { uri: sceneUri } }
const picture: Call = { method: 'resources/read', params: { uri: 'capture://current_window' } }

/** Reads of one client while another one has pictures of a 4K window taken, one after the other. */
export async function measureCapture(bench: Bench): Promise<Measured> {
  if (!hasPrograms(...needs)) throw new Error(`one of ${needs.join(', ')} is not installed`)
  // Larger than the window with its frame: without a compositor nothing of it may be outside.
  const desktop = await Desktop.start('4000x2300x24')
  const before = process.env.DISPLAY
  process.env.DISPLAY = desktop.env.DISPLAY
  try {
    await desktop.withWindowManager()
    await showLargeWindow(bench, desktop)
    return await measureOn(bench)
  } finally {
    if (before === undefined) delete process.env.DISPLAY
    else process.env.DISPLAY = before
    await bench.stopAll()
    await desktop.stop()
  }
}

/** Of a pattern that compresses badly, as a render does. */
async function showLargeWindow(bench: Bench, desktop: Desktop): Promise<void> {
  const file = join(bench.folder, 'pattern.png')
  await desktop.run('convert', '-size', '960x540', 'plasma:fractal', '-resize', '400%', file)
  desktop.start('display', '-title', title, '-geometry', '3840x2160+40+40', file)
  await eventually(async () => {
    const found = await desktop.run('xdotool', 'search', '--onlyvisible', '--name', title)
    return found.trim() !== ''
  }, 'the large window')
}

async function measureOn(bench: Bench): Promise<Measured> {
  const milliseconds = bench.pick(4000, 2000)
  const entries: Entry[] = []
  const notes: string[] = []
  for (const way of ['native', 'x11']) {
    const serveArguments = ['--capture', way, '--capture-title', title]
    const target = await bench.start('serve', {
      // Each read takes a picture of its own.
      serveArguments: [...serveArguments, '--limit', 'captureReuseMs=0'],
    })
    await postScene(target, bench.fixture.sceneText)
    const one = await reader(bench.startLoad(), target, scene)
    const capturing = await reader(bench.startLoad(), target, picture)
    notes.push(`${way}: ${await describePicture(target)}`)
    await one(500)
    const beside = async (): Promise<Figures> => {
      const [figures, pictures] = await Promise.all([one(milliseconds), capturing(milliseconds)])
      return { ...figures, pictures: pictures.rps ?? Number.NaN, pictureMs: pictures.p50Ms ?? 0 }
    }
    entries.push({ name: `${way}: beside captures`, measure: beside })
    if (way === 'x11') continue
    entries.push(
      { name: 'idle', measure: () => one(milliseconds) },
      { name: 'idle again', measure: () => one(milliseconds) },
      { name: 'beside a program at work', measure: () => besideProgram(() => one(milliseconds)) },
    )
  }
  const compared = await compare(entries, bench.pick(7, 3))
  return {
    name: 'capture',
    title: 'reads of 2 KB by one client while pictures of a 4K window are taken without a pause',
    reference: 'idle',
    columns: [
      { title: 'times p50', figure: 'p50Ms', show: 'ratio' },
      { title: 'times p99', figure: 'p99Ms', show: 'ratio' },
      { title: 'p50 ms', figure: 'p50Ms', show: 'value' },
      { title: 'p99 ms', figure: 'p99Ms', show: 'value' },
      { title: 'reads/s', figure: 'rps', show: 'value' },
      { title: 'pictures/s', figure: 'pictures', show: 'value' },
      { title: 'picture p50 ms', figure: 'pictureMs', show: 'value' },
      { title: 'server cpu', figure: 'serverCpu', show: 'value' },
    ],
    rounds: compared.rounds,
    notes: [...notes, ...compared.notes],
  }
}

async function reader(
  load: Load,
  target: Target,
  call: Call,
): Promise<(milliseconds: number) => Promise<Figures>> {
  const texts = callTexts(era, target, [call])
  const sessions = await openSessions(load, target, 1, era)
  return milliseconds => underLoad(load, target, texts, sessions, milliseconds)
}

/** Throws when there is no picture. */
async function describePicture(target: Target): Promise<string> {
  const load = { era: 'stateless', session: '' } as const
  let said = ''
  await eventually(async () => {
    const { result, bytes } = await askOnce(target, load, picture)
    const { contents = [] } = result as { contents?: readonly { blob?: string }[] }
    const png = Buffer.from(contents[0]?.blob ?? '', 'base64')
    said = `a picture of ${png.readUInt32BE(16)} x ${png.readUInt32BE(20)} in an answer of ${bytes} bytes`
    return true
  }, 'a picture of the large window')
  return said
}

/** What a busy processor costs, whoever keeps it busy. */
async function besideProgram<T>(measure: () => Promise<T>): Promise<T> {
  const program = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  const exited = once(program, 'exit')
  try {
    return await measure()
  } finally {
    program.kill('SIGKILL')
    await exited
  }
}
