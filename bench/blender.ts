/**
 * `node bench/blender.ts [MOVES]`: how soon a subscribed client hears of a move in Blender, and what
 * the link takes of Blender's main thread. Needs Blender; with a window also Xvfb and openbox.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mkdtemp } from 'node:fs/promises'
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
  installAddon,
  startRemote,
} from '../test/helpers/blender.ts'
import { formatNumber, quantile } from './measure.ts'

type Mode = (typeof blenderModes)[number]

const words = fileURLToPath(new URL('blender-words.py', import.meta.url))
const moves = Number(process.argv[2] ?? 30)
/** Longer than any throttle here: each move is a first change after a pause. */
const pauseMs = 1500
const playbackMs = 20_000
const scene = 'scene://current'
const scenes = [
  ['3 objects', []],
  ['10,000 objects', ['many']],
] as const

interface Linked {
  readonly blender: Remote
  readonly updates: Updates
}

/** A Blender with its scene prepared and told, and a client that listens; all of it ends after. */
async function whileLinked<Found>(
  addon: InstalledAddon,
  { args, command }: Mode,
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

/** Milliseconds from each move, and from Blender's report of it, until the client's notice. */
async function measureMoves({ blender, updates }: Linked): Promise<readonly number[]> {
  const fromMove: number[] = []
  const fromReport: number[] = []
  await blender.tell('watch_blender')
  for (let move = 0; move < moves; move++) {
    await blender.ask('seen')
    const told = updates
      .until(scene, updates.count(scene) + 1, 60_000)
      .then(() => performance.timeOrigin + performance.now())
    const began = await blender.tell('move')
    const noticed = await told
    const reported: number[] = await blender.ask('seen')
    fromMove.push(noticed - began)
    fromReport.push(noticed - (reported.find(at => at >= began) ?? Number.NaN))
    await sleep(pauseMs)
  }
  const quantiles = (values: number[]) => [0.5, 0.95].map(share => quantile(values, share))
  return [...quantiles(fromMove), ...quantiles(fromReport)]
}

/** Main thread for one moved object and for a full scan, measured inside Blender. */
async function printHandlerCost(addon: InstalledAddon): Promise<void> {
  const script = fileURLToPath(new URL('blender-handler.py', import.meta.url))
  const cost = addon.run([...background, '--python', script])
  await cost.exited
  for (const [line] of cost.output().matchAll(/^\|.*\|$/gm)) console.log(line)
}

/** Frames a second with and without the link, and what of the main thread the link takes. */
async function printPlayback(addon: InstalledAddon, mode: Mode): Promise<void> {
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

const addon = await installAddon(120_000 + moves * pauseMs * 4)
try {
  await printHandlerCost(addon)
  const modes = blenderModes.filter(({ needs }) => hasPrograms(...needs))
  for (const mode of modes) if (mode.mode === 'gui') await printPlayback(addon, mode)
  console.log('| a move | p50 ms | p95 ms | from the report: p50 ms | p95 ms |')
  console.log('|---|---:|---:|---:|---:|')
  for (const mode of modes) {
    for (const [about, prepare] of scenes) {
      const found = await whileLinked(addon, mode, prepare, measureMoves)
      console.log(`| ${mode.mode}, ${about} | ${found.map(formatNumber).join(' | ')} |`)
    }
  }
} finally {
  await addon.remove()
}
