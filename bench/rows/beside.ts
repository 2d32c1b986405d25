import { performance } from 'node:perf_hooks'
import type { Bench, Load } from '../bench.ts'
import { compare, withServerCpu, type Entry } from '../compare.ts'
import { sceneUri } from '../fixture.ts'
import { postScene } from '../host-link.ts'
import type { Transport } from '../load/transports.ts'
import type { Figures } from '../stats.ts'
import type { Measured } from '../table.ts'
import type { Target } from '../targets.ts'
import { rowName } from './transports.ts'
import { fanOut } from './fan-out.ts'
import { callTexts, openSessions, underLoad } from './requests.ts'

const busyConnections = 16
const busyStreams = 200
/** Of the busy clients, sent one at a time until the measurement is over. */
const updatesAtOnce = 5
const read = { method: 'resources/read', params: { uri: sceneUri } }

/** Reads of one client of a transport, alone and while many of its own or of the other transport are busy. */
export async function measureBeside(bench: Bench, transport: Transport): Promise<Measured> {
  const target = await bench.start('serve')
  await postScene(target, bench.fixture.sceneText)
  const milliseconds = bench.pick(1500, 400)
  const one = await reader(bench.startLoad(), target, transport, 1)
  const own = await besideBusy(bench, target, transport, { one, milliseconds })
  const other: Transport = transport === 'session' ? 'stateless' : 'session'
  const entries: Entry[] = [
    { ...own, name: 'beside its own transport' },
    { ...own, name: 'beside its own transport again' },
    {
      ...(await besideBusy(bench, target, other, { one, milliseconds })),
      name: 'beside the other transport',
    },
    { name: 'alone', measure: () => one(milliseconds) },
    { name: 'alone again', measure: () => one(milliseconds) },
  ]
  await one(bench.pick(1000, 300))
  const { rounds, notes } = await compare(entries, bench.pick(9, 3))
  return {
    name: rowName('beside', transport),
    title: `reads of one client, ${transport} transport, beside others that are busy`,
    reference: 'beside its own transport',
    columns: [
      { title: 'times p50', figure: 'p50Ms', show: 'ratio' },
      { title: 'times p99', figure: 'p99Ms', show: 'ratio' },
      { title: 'p50 ms', figure: 'p50Ms', show: 'value' },
      { title: 'p99 ms', figure: 'p99Ms', show: 'value' },
      { title: 'reads/s', figure: 'rps', show: 'value' },
      { title: 'others: reads/s', figure: 'busyReads', show: 'value' },
      { title: 'others: notif/s', figure: 'busyUpdates', show: 'value' },
      { title: 'others: delivered', figure: 'busyDelivered', show: 'value' },
      { title: 'server us/answer', figure: 'cpuUs', show: 'value' },
      { title: 'server cpu', figure: 'serverCpu', show: 'value' },
    ],
    rounds,
    notes: [
      `others: ${busyConnections} connections that read as fast as they can, ${busyStreams} streams that are told of updates one after the other`,
      'server us/answer: its CPU time by reads and notifications together',
      ...notes,
    ],
  }
}

type Reader = (milliseconds: number) => Promise<Figures>

async function reader(
  load: Load,
  target: Target,
  transport: Transport,
  connections: number,
): Promise<Reader> {
  const texts = callTexts(transport, target, [read])
  const sessions = await openSessions(load, target, connections, transport)
  return milliseconds => underLoad(load, target, texts, sessions, milliseconds)
}

/** The one reader, while many of the transport read and are told of updates. */
async function besideBusy(
  bench: Bench,
  target: Target,
  transport: Transport,
  { one, milliseconds }: { one: Reader; milliseconds: number },
): Promise<Pick<Entry, 'prepare' | 'measure'>> {
  const [readLoad, streamLoad] = [bench.startLoad(), bench.startLoad()]
  const many = await reader(readLoad, target, transport, busyConnections)
  const { name, mcp: place } = target
  const opened = { name, transport, place, uri: sceneUri, count: busyStreams }
  return {
    prepare: async () => {
      await many(500)
    },
    measure: async () => {
      await streamLoad.ask('openStreams', opened)
      const all = { over: false, heard: 0, delivered: 1 }
      const update = async () => {
        while (!all.over) {
          const told = await fanOut(streamLoad, target, 'oneAtATime', updatesAtOnce)
          all.heard += told.notifications
          all.delivered = Math.min(all.delivered, told.delivered)
        }
      }
      const readAll = async () => {
        try {
          return await Promise.all([one(milliseconds), many(milliseconds)])
        } finally {
          all.over = true
        }
      }
      try {
        const result = await withServerCpu(target, async () => {
          const started = performance.now()
          const [[figures, busy]] = await Promise.all([readAll(), update()])
          return { figures, busy, elapsedMs: performance.now() - started }
        })
        return figuresOf(result, all)
      } finally {
        await streamLoad.ask('closeStreams', name)
      }
    },
  }
}

interface Result {
  readonly figures: Figures
  readonly busy: Figures
  readonly elapsedMs: number
  readonly serverCpuMs: number
}

function figuresOf(
  { figures, busy, elapsedMs, serverCpuMs }: Result,
  { heard, delivered }: { readonly heard: number; readonly delivered: number },
): Figures {
  const { completed: own = 0, p50Ms = Number.NaN, p99Ms = Number.NaN, rps = Number.NaN } = figures
  const { completed: others = 0, rps: busyReads = Number.NaN } = busy
  return {
    p50Ms,
    p99Ms,
    rps,
    busyReads,
    busyUpdates: (heard / elapsedMs) * 1000,
    busyDelivered: delivered,
    cpuUs: (serverCpuMs * 1000) / (own + others + heard),
    serverCpu: serverCpuMs / elapsedMs,
  }
}
