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
  background,
  blenderModes,
  hasPrograms,
  installAddon,
  type Remote,
  startRemote,
} from '../test/helpers/blender.ts'
import { formatNumber, quantile } from './measure.ts'

const words = fileURLToPath(new URL('blender-words.py', import.meta.url))
const moves = Number(process.argv[2] ?? 30)
/** Longer than any throttle here: each move is a first change after a pause. */
const pauseMs = 1500
const playbackMs = 20_000
const scene = 'scene://current'
const addon = await installAddon(120_000 + moves * pauseMs * 4)

/** A Blender with its scene prepared and told, and a client that listens; all of it ends after. */
async function whileLinked<Found>(
  { args, command }: (typeof blenderModes)[number],
  prepare: readonly string[],
  measure: (blender: Remote, updates: Updates) => Promise<Found>,
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
    return await measure(blender, updates)
  } finally {
    await blender.quit()
    await client.close()
    await serving.stop()
  }
}

/** Milliseconds from each move, and from Blender's report of it, until the client's notice. */
async function measureMoves(blender: Remote, updates: Updates): Promise<number[]> {
  const fromMove: number[] = []
  const fromReport: number[] = []
  await blender.tell('watch_blender')
  for (let move = 0; move < moves; move++) {
    await blender.ask('seen')
    const told = updates.until(scene, updates.count(scene) + 1, 60_000).then(() => Date.now())
    const began = await blender.tell('move')
    const noticed = await told
    const reported: number[] = await blender.ask('seen')
    fromMove.push(noticed - began)
    fromReport.push(noticed - (reported.find(at => at >= began) ?? Number.NaN))
    await sleep(pauseMs)
  }
  return [fromMove, fromReport].flatMap(medianAndP95)
}

/** Per cent of the main thread. */
async function measurePlayback(blender: Remote): Promise<number[]> {
  await blender.tell('play')
  await sleep(playbackMs)
  return [100 * (await blender.ask('stop_playing'))]
}

async function printCost(): Promise<void> {
  printHead('CPU of the main thread', [
    'a move: p50 ms',
    'p95 ms',
    'reading everything, a tick: p95 ms',
  ])
  const blender = await startRemote(addon, { args: background, env: {}, words })
  for (const count of [10_000, 50_000]) {
    const { moves, scan } = await blender.ask(`cost ${count}`)
    printLine(`${count} objects`, [...medianAndP95(moves), quantile(scan, 0.95)])
  }
  await blender.quit()
}

function medianAndP95(values: readonly number[]): number[] {
  return [quantile(values, 0.5), quantile(values, 0.95)]
}

function printHead(first: string, rest: readonly string[]): void {
  console.log(`\n| ${[first, ...rest].join(' | ')} |\n|---|${'---:|'.repeat(rest.length)}`)
}

function printLine(name: string, found: readonly number[]): void {
  console.log(`| ${[name, ...found.map(formatNumber)].join(' | ')} |`)
}

try {
  await printCost()
  const modes = blenderModes.filter(({ needs }) => hasPrograms(...needs))
  printHead('playback', ['% of the main thread'])
  for (const mode of modes.filter(({ mode }) => mode === 'gui')) {
    printLine('2,000 moving objects', await whileLinked(mode, ['animate 2000'], measurePlayback))
  }
  printHead('a move, until the client hears', [
    'p50 ms',
    'p95 ms',
    'from the report: p50 ms',
    'p95 ms',
  ])
  for (const mode of modes) {
    printLine(`${mode.mode}, 3 objects`, await whileLinked(mode, [], measureMoves))
    printLine(`${mode.mode}, 10,000 objects`, await whileLinked(mode, ['many'], measureMoves))
  }
} finally {
  await addon.remove()
}
