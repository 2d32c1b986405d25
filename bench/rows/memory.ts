import type { Bench } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { readFileLimit } from '../cpu.ts'
import { sceneUri } from '../fixture.ts'
import { postScene } from '../host-link.ts'
import type { Transport } from '../load/transports.ts'
import type { Figures } from '../stats.ts'
import type { Measured } from '../table.ts'
import type { TargetName } from '../targets.ts'
import { rowName, speakersOf, titleEnd } from './transports.ts'
import { fanOut } from './fan-out.ts'

/** Files a process of node has open beside its sockets, with some to spare. */
const spareFiles = 500
const settleMs = 2000

/**
 * What an idle stream costs: resident memory after garbage was collected, with all streams open
 * less without any. With few streams the slack of the heap is most of it, so there are many.
 */
export async function measureMemory(bench: Bench, transport: Transport): Promise<Measured> {
  const wanted = bench.pick(9900, 2000)
  const count = Math.min(wanted, (readFileLimit() ?? wanted + spareFiles) - spareFiles)
  const entries: Entry[] = speakersOf(transport, bench.settings.targets).map(name => ({
    name,
    measure: () => measureOne(bench, name, transport, count),
  }))
  const { rounds, notes } = await compare(entries, 1)
  return {
    name: rowName('memory', transport),
    title: `memory of an idle stream, ${count} streams, one subscription each${titleEnd(transport)}`,
    reference: 'bare-parsed',
    columns: [
      { title: 'times bare-parsed', figure: 'kbPerStream', show: 'ratio' },
      { title: 'KB/stream', figure: 'kbPerStream', show: 'value' },
      { title: 'MB before', figure: 'beforeMb', show: 'value' },
      { title: 'MB with streams', figure: 'afterMb', show: 'value' },
      { title: 'opened/s', figure: 'openedPerSecond', show: 'value' },
      { title: 'delivered', figure: 'delivered', show: 'value' },
    ],
    rounds,
    notes: [
      'one process after the other; garbage collected by a module preloaded into each',
      'delivered: share of the streams that then heard one update',
      ...(count < wanted ? [`${count} instead of ${wanted}: the limit of open files`] : []),
      ...notes,
    ],
  }
}

async function measureOne(
  bench: Bench,
  name: TargetName,
  transport: Transport,
  count: number,
): Promise<Figures> {
  const target = await bench.start(name)
  const load = bench.startLoad()
  try {
    await postScene(target, bench.fixture.sceneText)
    const before = await target.residentBytes()
    const { mcp: place } = target
    const opened = { name, transport, place, uri: sceneUri, count }
    const { elapsedMs } = await load.ask<{ elapsedMs: number }>('openStreams', opened)
    await new Promise(resolve => setTimeout(resolve, settleMs))
    const after = await target.residentBytes()
    const { delivered } = await fanOut(load, target, 'oneAtATime', 1)
    return {
      kbPerStream: (after - before) / 1024 / count,
      beforeMb: before / 1024 / 1024,
      afterMb: after / 1024 / 1024,
      openedPerSecond: (count / elapsedMs) * 1000,
      delivered,
    }
  } finally {
    await bench.stopAll()
  }
}
