/**
 * `node bench/blender.ts [MOVES]`: how soon a subscribed client hears of a move and of other changes
 * in Blender, and what that costs Blender: its main thread for a moved object and for a snapshot, its
 * CPU time per publish. Needs Blender; with a window also Xvfb and openbox.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type SdkClient, Updates } from '../test/clients/client-face.ts'
import { startServe } from '../test/clients/serve.ts'
import {
  type InstalledAddon,
  type Remote,
  background,
  blenderModes,
  hasPrograms,
  insideBlender,
  installAddon,
  startRemote,
} from '../test/helpers/blender.ts'
import { describeMachine } from './machine.ts'
import { quantile } from './stats.ts'
import { formatNumber } from './table.ts'

const words = fileURLToPath(new URL('blender-words.py', import.meta.url))
const moves = Number(process.argv[2] ?? 30)
/** Longer than any throttle here: each move is a first change after a pause. */
const pauseMs = 1500
const playbackMs = 20_000
const pictures = 20
const changesOfAKind = 6
const scene = 'scene://current'
const scenes = [
  ['3 objects', []],
  ['10,000 objects', ['many']],
  ['50,000 objects', ['many 50000']],
] as const
const columns = [
  'p50 ms',
  'p95 ms',
  'max ms',
  'from the report: p50 ms',
  'p95 ms',
  'CPU ms per publish',
  'of it without the link',
]
const changeColumns = [
  'Blender itself, p50 ms',
  'noticed after that, p50 ms',
  'at most',
  'of it before its main loop turns, p50',
  'the add-on, CPU ms, p50',
  'a turn, p95 ms',
  'longest',
]

interface Linked {
  readonly blender: Remote
  readonly updates: Updates
}

/** A Blender with its scene prepared and told, and a client that listens; all of it ends after. */
async function whileLinked<Found>(
  addon: InstalledAddon,
  { args, command }: (typeof blenderModes)[number],
  prepare: readonly string[],
  measure: (linked: Linked) => Promise<Found>,
): Promise<Found> {
  const registryDir = await mkdtemp(join(addon.folder, 'registry-'))
  const serving = await startServe(registryDir)
  const client = new Client({ name: 'bench', version: '1' }) as unknown as SdkClient
  const updates = new Updates(client)
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)))
  await client.subscribeResource({ uri: scene })
  const env = { SERVICE_REGISTRY_DIR: registryDir, LIBGL_ALWAYS_SOFTWARE: '1' }
  const blender = await startRemote(addon, { args, env, command: [...command], words })
  try {
    for (const word of ['connect', ...prepare]) {
      await blender.tell(word)
      await updates.until(scene, 1, 60_000)
      await sleep(3 * pauseMs)
      while ((await blender.ask('is_told')) !== true) await sleep(pauseMs)
    }
    return await measure({ blender, updates })
  } finally {
    await blender.quit()
    await client.close()
    await serving.stop()
  }
}

interface Noticed {
  /** Until Blender reports the change: what it takes itself. */
  readonly reportedMs: number
  /** From there until the client's notice. */
  readonly noticedMs: number
  /** Of `noticedMs`, what Blender takes, mostly to draw, before its main loop turns again. */
  readonly turnedMs: number
}

async function noticeOf({ blender, updates }: Linked, word: string): Promise<Noticed> {
  await blender.ask('seen')
  const told = updates
    .until(scene, updates.count(scene) + 1, 60_000)
    .then(() => performance.timeOrigin + performance.now())
  const began = await blender.tell(word)
  const noticed = await told
  const seen: { reported: number[]; turned: number[] } = await blender.ask('seen')
  const reported = seen.reported.find(at => at >= began) ?? Number.NaN
  const turned = seen.turned.find(at => at >= reported) ?? noticed
  return {
    reportedMs: reported - began,
    noticedMs: noticed - reported,
    turnedMs: Math.min(turned, noticed) - reported,
  }
}

/** The figures of `columns`. */
async function measureMoves({ blender, updates }: Linked): Promise<readonly number[]> {
  const found: Noticed[] = []
  await blender.tell('watch_blender')
  const published = updates.count(scene)
  const linked = await cpuOf(blender, async () => {
    for (let move = 0; move < moves; move += 1) {
      found.push(await noticeOf({ blender, updates }, 'move'))
      await sleep(pauseMs)
    }
  })
  const publishes = updates.count(scene) - published
  const idle = await cpuOf(blender, () => sleep(linked.tookMs))
  // A window is drawn again after each move, whoever listens.
  await blender.tell('disconnect')
  const alone = await cpuOf(blender, async () => {
    for (let move = 0; move < moves; move += 1) {
      await blender.tell('move')
      await sleep(linked.tookMs / moves)
    }
  })
  const aloneIdle = await cpuOf(blender, () => sleep(alone.tookMs))
  const latencies = found.map(({ reportedMs, noticedMs }) => reportedMs + noticedMs)
  const fromReport = found.map(({ noticedMs }) => noticedMs)
  return [
    ...[0.5, 0.95, 1].map(share => quantile(latencies, share)),
    ...[0.5, 0.95].map(share => quantile(fromReport, share)),
    (linked.cpuMs - idle.cpuMs) / publishes,
    (alone.cpuMs - aloneIdle.cpuMs) / moves,
  ]
}

async function cpuOf(
  blender: Remote,
  run: () => Promise<unknown>,
): Promise<{ cpuMs: number; tookMs: number }> {
  const [cpuBefore, began] = [await blender.ask('cpu'), performance.now()]
  await run()
  return { cpuMs: (await blender.ask('cpu')) - cpuBefore, tookMs: performance.now() - began }
}

/** Main thread for one moved object, measured inside Blender. */
async function printHandlerCost(addon: InstalledAddon): Promise<void> {
  const script = fileURLToPath(new URL('blender-handler.py', import.meta.url))
  const cost = addon.run([...background, '--python', script])
  await cost.exited
  for (const [line] of cost.output().matchAll(/^\|.*\|$/gm)) console.log(line)
}

/** Main thread per snapshot, measured inside Blender. */
async function printSnapshotCost(addon: InstalledAddon): Promise<void> {
  const folder = join(addon.folder, 'files')
  await mkdir(folder)
  const script = join(insideBlender, 'snapshot_facts.py')
  const cost = addon.run([...background, '--python', script, '--', folder])
  await cost.exited
  for (const [line] of cost.output().matchAll(/\d+ objects, .* ms/g)) console.log(line)
}

/** Frames a second with and without the link, and what of the main thread the link takes. */
async function printPlayback(addon: InstalledAddon): Promise<void> {
  const mode = blenderModes.find(({ mode }) => mode === 'gui')
  if (mode === undefined || !hasPrograms(...mode.needs)) return
  const played = async (blender: Remote) => {
    await blender.tell('play')
    await sleep(playbackMs)
    return blender.ask('stop_playing')
  }
  const found = await whileLinked(addon, mode, ['animate 2000'], async ({ blender }) => {
    const linked = await played(blender)
    await blender.tell('disconnect')
    return { linked, alone: await played(blender) }
  })
  const { linked, alone } = found
  const [fps, fpsAlone] = [linked.fps, alone.fps].map(formatNumber)
  console.log(
    `playback of 2,000 moving objects: ${fps} frames a second, without the link ${fpsAlone}; ` +
      `of the main thread ${formatNumber(100 * linked.share)} %, ${formatNumber(linked.ms)} ms a frame`,
  )
}

/** What artists do in a scene of 10,000 objects: the figures of `changeColumns`. */
async function printChanges(addon: InstalledAddon): Promise<void> {
  const mode = blenderModes.find(({ mode }) => mode === 'gui')
  if (mode === undefined || !hasPrograms(...mode.needs)) return
  printHead(['10,000 objects, window', ...changeColumns])
  await whileLinked(addon, mode, ['many 10000'], async linked => {
    const { blender } = linked
    await blender.tell('watch_blender')
    await blender.tell('time_turns')
    for (const kind of ['select', 'hide', 'reparent', 'add', 'remove']) {
      const found: Noticed[] = []
      const turns: number[] = []
      const ours: number[] = []
      for (let number = 0; number < changesOfAKind; number++) {
        await blender.ask('turns')
        found.push(await noticeOf(linked, `change ${kind} ${number}`))
        const until: number[] = await blender.ask('turns')
        ours.push(until.reduce((sum, ms) => sum + ms, 0))
        await sleep(pauseMs)
        turns.push(...until, ...(await blender.ask('turns')))
      }
      const of = (figure: keyof Noticed, share: number) =>
        quantile(
          found.map(each => each[figure]),
          share,
        )
      const figures = [
        of('reportedMs', 0.5),
        of('noticedMs', 0.5),
        of('noticedMs', 1),
        of('turnedMs', 0.5),
        quantile(ours, 0.5),
        quantile(turns, 0.95),
        quantile(turns, 1),
      ]
      console.log(`| ${kind} | ${figures.map(formatNumber).join(' | ')} |`)
    }
  })
}

function printHead([about, ...figures]: readonly string[]): void {
  console.log(`| ${about} | ${figures.join(' | ')} |\n|---|${'---:|'.repeat(figures.length)}`)
}

/** A picture from a chosen viewpoint: Blender's own drawing, and what the add-on takes beside it. */
async function printPictures(addon: InstalledAddon): Promise<void> {
  const mode = blenderModes.find(({ mode }) => mode === 'gui')
  if (mode === undefined || !hasPrograms(...mode.needs)) return
  const measure = ({ blender }: Linked) => blender.ask(`time_shots ${pictures}`)
  const { draw, ours, pack } = await whileLinked(addon, mode, ['many 2000'], measure)
  const of = (values: number[]) =>
    [0.5, 0.95].map(share => formatNumber(quantile(values, share))).join(' and ')
  console.log(
    `picture of 1024x576 from a chosen viewpoint, 2,000 objects, ms, p50 and p95: drawn by Blender ${of(draw)}; ` +
      `the add-on's own on the main thread (CPU) ${of(ours)}; packed on the thread of the link ${of(pack)}`,
  )
}

// Each run, its two controls, and as much again for a slow machine.
const addon = await installAddon(120_000 + moves * pauseMs * 8)
try {
  console.log(describeMachine())
  await printHandlerCost(addon)
  await printSnapshotCost(addon)
  await printPictures(addon)
  await printPlayback(addon)
  await printChanges(addon)
  printHead(['', ...columns])
  for (const mode of blenderModes) {
    if (!hasPrograms(...mode.needs)) {
      console.log(`${mode.mode}: one of ${mode.needs.join(', ')} is not installed`)
      continue
    }
    for (const [about, prepare] of scenes) {
      const found = await whileLinked(addon, mode, prepare, measureMoves)
      console.log(`| ${mode.mode}, ${about} | ${found.map(formatNumber).join(' | ')} |`)
    }
  }
} finally {
  await addon.remove()
}
