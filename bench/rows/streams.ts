/** Rows of event streams: updates that many hear, and what an idle one costs. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { makeSceneText } from '../fixture.ts'
import { measureWork, Streams } from '../load.ts'
import type { Entry, Figures, Row } from '../measure.ts'
import type { Server } from '../server.ts'

/** Scene updates to many open streams, each sent when all have heard the one before. */
export async function fanOutRow(bench: Bench): Promise<Row> {
  const count = 200
  const entryOf = (server: Server): Entry => {
    let streams: Streams
    return {
      name: server.name,
      prepare: async () => {
        await server.postScene(makeSceneText(0))
        streams = await Streams.open(server, count)
        await streams.update(server, 10)
      },
      measure: () => measureWork([server], () => streams.update(server, bench.pick(200, 40))),
    }
  }
  return {
    title: `scene updates that ${count} open streams hear, each of an own session`,
    reference: 'bare-http',
    columns: [
      { title: 'cpu ratio', figure: 'cpuUs', show: 'inverse' },
      { title: 'us/notification', figure: 'cpuUs', show: 'value' },
    ],
    entries: (await bench.startAll()).map(entryOf),
    rounds: bench.pick(5, 2),
  }
}

/**
 * What an idle stream costs: resident memory after garbage was collected, with all streams open
 * less without any. With few streams the slack of the heap is most of it, so there are many. All
 * of them then hear one update.
 */
export async function memoryRow(bench: Bench): Promise<Row> {
  const count = bench.pick(9900, 2000)
  const measureOne = async (server: Server): Promise<Figures> => {
    await server.postScene(makeSceneText(0))
    const before = await server.usage('residentBytes')
    const streams = await Streams.open(server, count)
    // The heap settles.
    await delay(2000)
    const after = await server.usage('residentBytes')
    await streams.update(server, 1)
    streams.close()
    return { kbPerStream: (after - before) / 1024 / count }
  }
  const entryOf = (server: Server) => ({ name: server.name, measure: () => measureOne(server) })
  return {
    title: `memory of an idle stream, ${count} streams, one subscription each`,
    reference: 'bare-prepared',
    columns: [
      { title: 'times bare-prepared', figure: 'kbPerStream', show: 'ratio' },
      { title: 'KB/stream', figure: 'kbPerStream', show: 'value' },
    ],
    entries: (await bench.startAll()).map(entryOf),
    rounds: 1,
  }
}
