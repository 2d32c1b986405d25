/** Rows of event streams: updates that many hear, and what an idle one costs. */
import { type Bench, comparisonServers } from '../bench.ts'
import type { Child } from '../child.ts'
import { makeSceneText } from '../fixture.ts'
import type { FanOutResult } from '../load.ts'
import { type Column, compare, type Entry, type Figures, type Table } from '../measure.ts'
import type { Server } from '../server.ts'
import { cpuOf } from './requests.ts'

const settleMs = 2000

export interface FannedOut extends FanOutResult {
  readonly serverCpuMs: number
  readonly loadCpu: number
}

/** Opens `count` streams, each of an own session with one subscription, under `name`. */
export async function openStreams(
  load: Child,
  name: string,
  server: Server,
  count: number,
  [uri, url]: readonly [uri?: string, url?: string] = [],
): Promise<void> {
  const streams = []
  for (let i = 0; i < count; i++)
    streams.push(server.stream(await server.openSession(uri, url), url))
  await load.ask('openStreams', { name, streams })
}

/** Makes `count` updates and says what the streams opened under `name` heard of them. */
export async function fanOut(
  load: Child,
  {
    name,
    server,
    servers = [server],
  }: { name: string; server: Server; servers?: readonly Server[] },
  count: number,
): Promise<FannedOut> {
  const updates = Array.from({ length: count }, (_, i) =>
    server.host('POST', '/scene', makeSceneText(i + 1)),
  )
  const before = await cpuOf(servers)
  const result = await load.ask<FannedOut>('fanOut', { name, updates })
  return { ...result, serverCpuMs: (await cpuOf(servers)) - before }
}

const fanOutColumns: readonly Column[] = [
  { title: 'cpu ratio', figure: 'cpuUs', show: 'inverse' },
  { title: 'ratio', figure: 'perSecond', show: 'ratio' },
  { title: 'delivered', figure: 'delivered', show: 'value' },
  { title: 'notif/s', figure: 'perSecond', show: 'value' },
  { title: 'ms to all', figure: 'p50Ms', show: 'value' },
  { title: 'load cpu', figure: 'loadCpu', show: 'value' },
]

/** Scene updates to many open streams, each sent when all have heard the one before. */
export async function measureFanOut(bench: Bench): Promise<Table> {
  const count = 200
  const load = bench.startLoad()
  const entryOf = (server: Server): Entry => {
    const streams = { name: server.name, server }
    return {
      name: server.name,
      prepare: async () => {
        await server.postScene(bench.fixture.sceneText)
        await openStreams(load, server.name, server, count)
        await fanOut(load, streams, 10)
      },
      measure: async () => {
        const heard = await fanOut(load, streams, bench.pick(200, 40))
        const { serverCpuMs, notifications, elapsedMs, delivered, p50Ms, loadCpu } = heard
        const cpuUs = (serverCpuMs * 1000) / notifications
        return { cpuUs, perSecond: (notifications / elapsedMs) * 1000, delivered, p50Ms, loadCpu }
      },
    }
  }
  const servers: Server[] = []
  for (const name of comparisonServers) servers.push(await bench.startOther(name))
  for (const [name, entry] of bench.builds) {
    servers.push(await bench.startOurs(name, entry, ['serve']))
  }
  const rounds = await compare(servers.map(entryOf), bench.pick(5, 2))
  return {
    title: `scene updates to ${count} open streams, each of an own session`,
    reference: 'bare-http',
    columns: fanOutColumns,
    rounds,
  }
}

/**
 * What an idle stream costs: resident memory after garbage was collected, with all streams open
 * less without any. With few streams the slack of the heap is most of it, so there are many.
 */
export async function measureMemory(bench: Bench): Promise<Table> {
  const count = bench.pick(9900, 2000)
  const measureOne = async (server: Server): Promise<Figures> => {
    const load = bench.startLoad()
    await server.postScene(bench.fixture.sceneText)
    const before = await server.residentBytes()
    await openStreams(load, server.name, server, count)
    await new Promise(resolve => setTimeout(resolve, settleMs))
    const after = await server.residentBytes()
    const { delivered } = await fanOut(load, { name: server.name, server }, 1)
    await bench.stopAll()
    const mb = 1024 * 1024
    const kbPerStream = (after - before) / 1024 / count
    return { kbPerStream, beforeMb: before / mb, afterMb: after / mb, delivered }
  }
  const entries: Entry[] = [
    ...comparisonServers.map(name => ({
      name,
      measure: async () => measureOne(await bench.startOther(name)),
    })),
    ...bench.builds.map(([name, entry]) => ({
      name,
      measure: async () => measureOne(await bench.startOurs(name, entry, ['serve'])),
    })),
  ]
  return {
    title: `memory of an idle stream, ${count} streams, one subscription each`,
    reference: 'bare-prepared',
    columns: [
      { title: 'times bare-prepared', figure: 'kbPerStream', show: 'ratio' },
      { title: 'KB/stream', figure: 'kbPerStream', show: 'value' },
      { title: 'MB before', figure: 'beforeMb', show: 'value' },
      { title: 'MB with streams', figure: 'afterMb', show: 'value' },
      { title: 'delivered', figure: 'delivered', show: 'value' },
    ],
    rounds: await compare(entries, 1),
    notes: [
      'one process after the other; delivered: share of the streams that then heard one update',
    ],
  }
}
