/**
 * `node bench/blender.ts [MOVES]`: how soon a subscribed client hears of a move in Blender, and what
 * a snapshot costs Blender's main thread. Needs Blender; with a window also Xvfb and openbox.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
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
import { startRemote } from '../test/helpers/blender-remote.ts'
import { describeMachine } from './machine.ts'

const moves = Number(process.argv[2] ?? 30)
/** Longer than any throttle here: each move is a first change after a pause. */
const pauseMs = 1500
const scene = 'scene://current'

/** From the change in Blender to the client's notice, in ms, sorted. */
async function latencies(
  addon: InstalledAddon,
  { args, command }: (typeof blenderModes)[number],
  prepare: readonly string[],
): Promise<number[]> {
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
    }
    const found: number[] = []
    for (let move = 0; move < moves; move += 1) {
      const before = updates.count(scene)
      const told = updates
        .until(scene, before + 1, 60_000)
        .then(() => performance.timeOrigin + performance.now())
      const at = await blender.tell('move')
      found.push((await told) - at)
      await sleep(pauseMs)
    }
    return found.toSorted((a, b) => a - b)
  } finally {
    await blender.quit()
    await client.close()
    await serving.stop()
  }
}

function quantile(sorted: readonly number[], share: number): string {
  return (sorted[Math.floor(share * (sorted.length - 1))] ?? NaN).toFixed(1)
}

const addon = await installAddon()
try {
  console.log(describeMachine())
  const folder = join(addon.folder, 'files')
  await mkdir(folder)
  const script = join(insideBlender, 'snapshot_facts.py')
  const cost = addon.run([...background, '--python', script, '--', folder])
  await cost.exited
  for (const [line] of cost.output().matchAll(/\d+ objects, .* ms/g)) console.log(line)
  for (const mode of blenderModes) {
    if (!hasPrograms(...mode.needs)) {
      console.log(`${mode.mode}: one of ${mode.needs.join(', ')} is not installed`)
      continue
    }
    for (const [about, prepare] of [
      ['3 objects', []],
      ['10000 objects', ['many']],
    ] as const) {
      const found = await latencies(addon, mode, prepare)
      const [middle, late, worst] = [0.5, 0.95, 1].map(share => quantile(found, share))
      console.log(`${mode.mode}, ${about}: p50 ${middle} ms, p95 ${late} ms, max ${worst} ms`)
    }
  }
} finally {
  await addon.remove()
}
