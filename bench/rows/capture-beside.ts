import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Desktop } from '../../test/apps/display/desktop.ts'
import { hasPrograms } from '../../test/helpers/blender.ts'
import { until } from '../../test/helpers/until.ts'
import type { Bench, Load } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { sceneUri } from '../fixture.ts'
import { askOnce, postScene } from '../host-link.ts'
import type { Call } from '../load/transports.ts'
import type { Figures } from '../stats.ts'
import type { Measured } from '../table.ts'
import type { Target } from '../targets.ts'
import { callTexts, openSessions, underLoad } from './requests.ts'

const transport = 'session'
const title = 'noise of the benchmark'
const size = { width: 3840, height: 2160 }
/** Debian: xvfb, openbox, xcompmgr, x11-utils, xdotool, imagemagick. */
const tools = ['Xvfb', 'openbox', 'xcompmgr', 'xprop', 'xdotool', 'display']
const scene: Call = { method: 'resources/read', params: { uri: sceneUri } }
const picture: Call = { method: 'resources/read', params: { uri: 'capture://current_window' } }
/** Of different widths, so that no read gets the picture of an earlier one. */
const pictures: readonly Call[] = Array.from({ length: 40 }, (_, at) => ({
  method: 'resources/read',
  params: { uri: `capture://current_window?max_width=${size.width - at}` },
}))
/** Fewer than any answer with a picture of noise has, more than any without. */
const fullBytes = 1_000_000
const patienceMs = 30_000

type Reader = (milliseconds: number) => Promise<Figures>

/** Reads of one client, alone and while another has pictures of a 4K window taken without a pause. */
export async function measureCaptureBeside(bench: Bench): Promise<Measured> {
  if (!hasPrograms(...tools)) {
    throw new Error(`left out: it needs ${tools.join(', ')}; one of them is not installed`)
  }
  // Larger than the window, which the manager gives a frame.
  const desktop = await Desktop.start('3860x2260x24')
  try {
    await desktop.withWindowManager()
    desktop.startCompositor()
    const raw = join(bench.folder, 'noise.rgb')
    writeFileSync(raw, randomBytes(size.width * size.height * 3))
    const form = ['-size', `${size.width}x${size.height}`, '-depth', '8', `rgb:${raw}`]
    await desktop.shown(title, `${size.width}x${size.height}+0+0`, ...form)
    return await measureOn(bench, desktop)
  } finally {
    await bench.stopAll()
    await desktop.stop()
  }
}

async function measureOn(bench: Bench, desktop: Desktop): Promise<Measured> {
  const milliseconds = bench.pick(4000, 2500)
  const { DISPLAY = '' } = desktop.env
  const serveArguments = ['--capture', 'native', '--capture-title', title]
  const target = await bench.start('serve', { serveArguments, env: { DISPLAY } })
  await postScene(target, bench.fixture.sceneText)
  const load = bench.startLoad()
  const found = await describePicture(target)
  const alone = await reader(load, target, [scene])
  const besideCaptures = async (): Promise<Entry> => {
    const one = await reader(load, target, [scene])
    const readPictures = await reader(bench.startLoad(), target, pictures)
    return {
      name: 'beside captures',
      prepare: async () => void (await one(1000)),
      measure: async () => {
        const [figures, taken] = await Promise.all([one(milliseconds), readPictures(milliseconds)])
        // A failed one is answered with 200, too, and is short.
        if ((taken.bytes ?? 0) < fullBytes) throw new Error('a picture failed')
        return { ...figures, pictures: taken.rps ?? 0, pictureMs: taken.p50Ms ?? 0 }
      },
    }
  }
  const work = (count: number) => besidePrograms(count, () => alone(milliseconds))
  const { rounds, notes } = await compare(
    [
      {
        name: 'idle',
        prepare: async () => void (await alone(1000)),
        measure: () => alone(milliseconds),
      },
      { name: 'idle again', measure: () => alone(milliseconds) },
      { name: 'beside one program at work', measure: () => work(1) },
      { name: 'beside two programs at work', measure: () => work(2) },
      await besideCaptures(),
    ],
    bench.pick(5, 3),
  )
  return {
    name: 'capture-beside',
    title: 'reads of 2 KB by one client while pictures of a 4K window are taken without a pause',
    reference: 'idle',
    columns: [
      { title: 'times p50', figure: 'p50Ms', show: 'ratio' },
      { title: 'times p99', figure: 'p99Ms', show: 'ratio' },
      { title: 'p50 ms', figure: 'p50Ms', show: 'value' },
      { title: 'p99 ms', figure: 'p99Ms', show: 'value' },
      // One long stall among thousands of reads is in no p99.
      { title: 'longest ms', figure: 'maxMs', show: 'value' },
      { title: 'reads/s', figure: 'rps', show: 'value' },
      { title: 'pictures/s', figure: 'pictures', show: 'value' },
      { title: 'picture p50 ms', figure: 'pictureMs', show: 'value' },
      { title: 'server cpu', figure: 'serverCpu', show: 'value' },
    ],
    rounds,
    notes: [
      found,
      'programs at work: processes of their own that do nothing but compute, as the threads that make the pictures do',
      ...notes,
    ],
  }
}

async function reader(load: Load, target: Target, calls: readonly Call[]): Promise<Reader> {
  const texts = callTexts(transport, target, calls)
  const sessions = await openSessions(load, target, 1, transport)
  return milliseconds => underLoad(load, target, texts, sessions, milliseconds)
}

/** Once there is one: of the window, and of all that it shows. */
async function describePicture(target: Target): Promise<string> {
  let said = ''
  let failure = ''
  const ask = async () => {
    const { result, bytes } = await askOnce(
      target,
      { transport: 'stateless', session: '' },
      picture,
    )
    const { contents = [] } = result as { contents?: readonly { blob?: string }[] }
    const png = Buffer.from(contents[0]?.blob ?? '', 'base64')
    said = `pictures of ${png.readUInt32BE(16)} x ${png.readUInt32BE(20)}, ${bytes} bytes an answer`
    return true
  }
  const failed = (error: unknown) => {
    failure = (error as Error).message
    return false
  }
  await until(() => ask().catch(failed), 'a picture of the window', patienceMs).catch(() => {
    throw new Error(`there is no picture of the window: ${failure}`)
  })
  return said
}

/** What busy processors cost, whoever keeps them busy. */
async function besidePrograms<T>(count: number, measure: () => Promise<T>): Promise<T> {
  const programs = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  const exited = programs.map(program => once(program, 'exit'))
  try {
    return await measure()
  } finally {
    for (const program of programs) program.kill('SIGKILL')
    await Promise.all(exited)
  }
}
