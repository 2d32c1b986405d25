/**
 * `node bench/blender.ts [MOVES]`: how soon a subscribed client hears of a move in Blender, and what
 * that costs Blender: its main thread for a moved object and for a snapshot, its CPU time per
 * publish. Needs Blender; with a window also Xvfb and openbox.
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
  background,
  hasPrograms,
  insideBlender,
  installAddon,
  type InstalledAddon,
} from '../test/helpers/blender-addon.ts'
import { blenderModes } from '../test/helpers/blender-modes.ts'
import { type Remote, startRemote } from '../test/helpers/blender-remote.ts'
import { describeMachine } from './machine.ts'
import { quantile } from './stats.ts'
import { formatNumber } from './table.ts'

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
const columns = ['p50 ms', 'p95 ms', 'max ms', 'CPU ms per publish', 'of it without the link']

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
  const blender = await startRemote(addon, { args, env, command: [...command] })
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

/** The figures of `columns`. */
async function measureMoves({ blender, updates }: Linked): Promise<readonly number[]> {
  const latencies: number[] = []
  const published = updates.count(scene)
  const linked = await cpuOf(blender, async () => {
    for (let move = 0; move < moves; move += 1) {
      const told = updates
        .until(scene, updates.count(scene) + 1, 60_000)
        .then(() => performance.timeOrigin + performance.now())
      const at = await blender.tell('move')
      latencies.push((await told) - at)
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
  return [
    ...[0.5, 0.95, 1].map(share => quantile(latencies, share)),
    (linked.cpuMs - idle.cpuMs) / publishes,
    (alone.cpuMs - aloneIdle.cpuMs) / moves,
  ]
}

async function cpuOf(
  blender: Remote,
  run: () => Promise<unknown>,
): Promise<{ cpuMs: number; tookMs: number }> {
  const [cpuBefore, began] = [await blender.cpuMs(), performance.now()]
  await run()
  return { cpuMs: (await blender.cpuMs()) - cpuBefore, tookMs: performance.now() - began }
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

/** What artists do in a scene of 10,000 objects: until the client's notice, and ours in the meantime. */
async function printChanges(addon: InstalledAddon): Promise<void> {
  const mode = blenderModes.find(({ mode }) => mode === 'gui')
  if (mode === undefined || !hasPrograms(...mode.needs)) return
  await whileLinked(addon, mode, ['many 10000'], async ({ blender, updates }) => {
    await blender.tell('time_turns')
    for (const kind of ['select', 'hide', 'reparent', 'add', 'remove']) {
      const latencies: number[] = []
      const turns: number[] = []
      for (let number = 0; number < changesOfAKind; number++) {
        await blender.ask('turns')
        const told = updates
          .until(scene, updates.count(scene) + 1, 60_000)
          .then(() => performance.timeOrigin + performance.now())
        const at = await blender.tell(`change ${kind} ${number}`)
        latencies.push((await told) - at)
        await sleep(pauseMs)
        turns.push(...(await blender.ask('turns')))
      }
      const of = (share: number) => formatNumber(quantile(latencies, share))
      const longest = [0.95, 1].map(share => formatNumber(quantile(turns, share)))
      console.log(
        `${kind}, 10,000 objects, window: noticed after ${of(0.5)} ms, at most ${of(1)}; ` +
          `a turn of the add-on ${longest[0]} ms p95, at most ${longest[1]}`,
      )
    }
  })
}

/** A picture from elsewhere: Blender's own drawing, and what the add-on takes beside it. */
async function printPictures(addon: InstalledAddon): Promise<void> {
  const mode = blenderModes.find(({ mode }) => mode === 'gui')
  if (mode === undefined || !hasPrograms(...mode.needs)) return
  const measure = ({ blender }: Linked) => blender.ask(`time_shots ${pictures}`)
  const { draw, ours, pack } = await whileLinked(addon, mode, ['many 2000'], measure)
  const of = (values: number[]) =>
    [0.5, 0.95].map(share => formatNumber(quantile(values, share))).join(' and ')
  console.log(
    `picture of 1024x576 from elsewhere, 2,000 objects, ms, p50 and p95: drawn by Blender ${of(draw)}; ` +
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
  console.log(`| | ${columns.join(' | ')} |\n|---|${'---:|'.repeat(columns.length)}`)
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
