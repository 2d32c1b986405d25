import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { Child } from '../child.ts'
import { compare, type Entry } from '../compare.ts'
import { readCpuMs } from '../cpu.ts'
import type { Figures } from '../stats.ts'
import type { Measured } from '../table.ts'

const answerMs = 20_000
/** Of the start, with the first look at everything. */
const settleMs = 1000

/** What it costs to follow the records of many instances, beside a process that does nothing. */
export async function measureInstances(bench: Bench): Promise<Measured> {
  const seconds = bench.pick(20, 3)
  const kinds: readonly (readonly [name: string, records: number, beating: number])[] = [
    ['20 records, all beat', 20, 20],
    ['1,000 records, none beats', 1000, 0],
    ['1,000 records, 200 beat', 1000, 200],
    ['1,000 records, all beat', 1000, 1000],
  ]
  const entries: Entry[] = [
    { name: 'idle', measure: () => measureOne(bench, [], seconds) },
    ...kinds.map(([name, records, beating]) => ({
      name,
      measure: () => measureFolder(bench, records, beating, seconds),
    })),
  ]
  const { rounds, notes } = await compare(entries, bench.pick(3, 1))
  return {
    name: 'instances',
    title: 'following instance records',
    reference: 'idle',
    columns: [
      { title: 'CPU ms/s', figure: 'cpuMsPerSecond', show: 'value' },
      { title: 'live', figure: 'live', show: 'value' },
    ],
    rounds,
    notes: [
      `CPU of the process that follows, over ${seconds} s; heartbeats every 5 s, spread evenly`,
      'the process of every instance is checked twice a second, also where its heart does not beat',
      ...notes,
    ],
  }
}

async function measureFolder(
  bench: Bench,
  records: number,
  beating: number,
  seconds: number,
): Promise<Figures> {
  const folder = join(bench.folder, 'instances')
  const beats = startChild(bench, 'beat', [folder, String(records), String(beating)])
  try {
    await beats.ask('written', null, answerMs)
    return await measureOne(bench, [folder], seconds)
  } finally {
    await bench.stopAll()
  }
}

async function measureOne(
  bench: Bench,
  argv: readonly string[],
  seconds: number,
): Promise<Figures> {
  const watch = startChild(bench, 'watch', argv)
  try {
    await watch.ask('live', null, answerMs)
    await delay(settleMs)
    const before = readCpuMs(watch.pid) ?? Number.NaN
    const beganMs = performance.now()
    await delay(seconds * 1000)
    const usedMs = (readCpuMs(watch.pid) ?? Number.NaN) - before
    const tookMs = performance.now() - beganMs
    const live = Number(await watch.ask('live', null, answerMs))
    return { cpuMsPerSecond: (usedMs / tookMs) * 1000, live }
  } finally {
    await bench.stopAll()
  }
}

function startChild(bench: Bench, script: string, argv: readonly string[]): Child {
  const file = fileURLToPath(new URL(`../instances/${script}.ts`, import.meta.url))
  return bench.adopt(
    new Child({ argv: [file, ...argv], logFile: join(bench.folder, `${script}.log`) }),
  )
}
