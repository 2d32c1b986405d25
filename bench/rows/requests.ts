/** Rows of requests under load: reads, lists, sessions, blobs. */
import type { Bench } from '../bench.ts'
import type { Child } from '../child.ts'
import { comparisonServers } from '../bench.ts'
import { sceneUri } from '../fixture.ts'
import type { ClosedLoop, ClosedLoopResult } from '../load.ts'
import { type Column, compare, type Entry, type Figures, type Table } from '../measure.ts'
import type { Sent, Server } from '../server.ts'

const connections = 16
/** Encoded 171 MiB, more than `serve` keeps encoded. */
const coldArtefacts = 32

const columns: readonly Column[] = [
  { title: 'cpu ratio', figure: 'cpuUs', show: 'inverse' },
  { title: 'rps ratio', figure: 'rps', show: 'ratio' },
  { title: 'requests/s', figure: 'rps', show: 'value' },
  { title: 'server us/request', figure: 'cpuUs', show: 'value' },
  { title: 'p50 ms', figure: 'p50Ms', show: 'value' },
  { title: 'p99 ms', figure: 'p99Ms', show: 'value' },
  { title: 'bytes', figure: 'bytes', show: 'value' },
  { title: 'load cpu', figure: 'loadCpu', show: 'value' },
]

/** Keeps the connections busy; CPU is that of the `servers` together. */
export async function underLoad(
  load: Child,
  servers: readonly Pick<Server, 'cpuMs'>[],
  closedLoop: ClosedLoop,
): Promise<Figures> {
  const before = await cpuOf(servers)
  const result = await load.ask<ClosedLoopResult & { loadCpu: number }>('closedLoop', closedLoop)
  const { completed, elapsedMs, bytes, p50Ms, p99Ms, loadCpu } = result
  return {
    rps: (completed / elapsedMs) * 1000,
    cpuUs: (((await cpuOf(servers)) - before) * 1000) / completed,
    bytes: bytes / completed,
    p50Ms,
    p99Ms,
    loadCpu,
  }
}

export async function cpuOf(servers: readonly Pick<Server, 'cpuMs'>[]): Promise<number> {
  const each = await Promise.all(servers.map(server => server.cpuMs()))
  return each.reduce((sum, ms) => sum + ms, 0)
}

/** An entry that asks one server the same calls again and again, on each connection. */
function entryOf(
  bench: Bench,
  load: Child,
  {
    name,
    server,
    count = connections,
    ms = bench.pick(300, 250),
    prepare,
  }: {
    name: string
    server: Server
    count?: number
    ms?: number
    /** Stores what will be asked for and says what each session asks. */
    prepare: () => Promise<(session: string) => readonly Sent[]>
  },
): Entry {
  let requests: (readonly Sent[])[] = []
  return {
    name,
    prepare: async () => {
      const sentIn = await prepare()
      for (let i = 0; i < count; i++) requests.push(sentIn(await server.openSession()))
      await underLoad(load, [server], { requests, milliseconds: bench.pick(1500, 400) })
    },
    measure: () => underLoad(load, [server], { requests, milliseconds: ms }),
  }
}

async function startAll(bench: Bench): Promise<{ ours: Server[]; others: Server[] }> {
  const ours: Server[] = []
  for (const [name, entry] of bench.builds) ours.push(await bench.startOurs(name, entry, ['serve']))
  const others: Server[] = []
  for (const name of comparisonServers) others.push(await bench.startOther(name))
  return { ours, others }
}

/** resources/read of a scene of 2 KB: guards on, access log written to a file. */
export async function measureRead(bench: Bench): Promise<Table> {
  const { ours, others } = await startAll(bench)
  const load = bench.startLoad()
  const entries = [...others, ...ours].map(server =>
    entryOf(bench, load, {
      name: server.name,
      server,
      prepare: async () => {
        await server.postScene(bench.fixture.sceneText)
        return session => [server.call(session, 'resources/read', { uri: sceneUri })]
      },
    }),
  )
  const rounds = await compare(entries, bench.pick(21, 3))
  const title = `resources/read, 2 KB of JSON, ${connections} connections`
  return { title, reference: 'bare-http', columns, rounds }
}

/** resources/list; the others list what `serve` lists. */
export async function measureList(bench: Bench): Promise<Table> {
  const ours: Server[] = []
  let fixture = bench.fixture
  for (const [name, entry] of bench.builds) {
    const server = await bench.startOurs(name, entry, ['serve'])
    await server.postScene(fixture.sceneText)
    for (let seed = 0; seed < 4; seed++) await server.postArtefact(seed, 1024)
    const { result } = await server.ask(await server.openSession(), 'resources/list')
    fixture = { ...fixture, resources: result.resources }
    ours.push(server)
  }
  const others: Server[] = []
  for (const name of comparisonServers) others.push(await bench.startOther(name, { fixture }))
  const load = bench.startLoad()
  const prepareFor = (server: Server) => async () => (session: string) => [
    server.call(session, 'resources/list'),
  ]
  const entries = [...others, ...ours].map(server =>
    entryOf(bench, load, { name: server.name, server, prepare: prepareFor(server) }),
  )
  const rounds = await compare(entries, bench.pick(21, 3))
  const title = `resources/list, ${fixture.resources.length} resources, ${connections} connections`
  return { title, reference: 'bare-http', columns, rounds }
}

/** `initialize`, which opens a session; beyond 10,000 the one that was idle for longest ends. */
export async function measureInitialize(bench: Bench): Promise<Table> {
  const { ours, others } = await startAll(bench)
  const load = bench.startLoad()
  const entries = [...others, ...ours].map(server =>
    entryOf(bench, load, {
      name: server.name,
      server,
      prepare: async () => () => [server.initialize()],
    }),
  )
  const rounds = await compare(entries, bench.pick(21, 3))
  const notes = ['answers differ: serve tells clients how to find their way about, others do not']
  const title = `initialize, ${connections} connections`
  return { title, reference: 'bare-http', columns, rounds, notes }
}

/** resources/read of a 4 MiB artefact: always the same one, and one of many in turn. */
export async function measureBlob(bench: Bench): Promise<Table> {
  const { ours, others } = await startAll(bench)
  const load = bench.startLoad()
  const times = { count: 4, ms: bench.pick(1000, 300) }
  const readIn = (server: Server, uris: readonly string[]) => (session: string) =>
    uris.map(uri => server.call(session, 'resources/read', { uri }))
  const { blobUri } = bench.fixture
  const entries = others.map(server =>
    entryOf(bench, load, {
      ...times,
      name: server.name,
      server,
      prepare: async () => readIn(server, [blobUri]),
    }),
  )
  for (const server of ours) {
    const stored = async (from: number, to: number) => {
      const uris: string[] = []
      for (let seed = from; seed < to; seed++) uris.push(await server.postArtefact(seed))
      return readIn(server, uris)
    }
    const hot = { ...times, name: `${server.name} (hot)`, server, prepare: () => stored(0, 1) }
    const prepare = () => stored(1, 1 + coldArtefacts)
    const cold = { ...times, name: `${server.name} (cold)`, server, prepare }
    entries.push(entryOf(bench, load, hot), entryOf(bench, load, cold))
  }
  const rounds = await compare(entries, bench.pick(5, 3))
  const notes = [
    `hot: one artefact again and again; cold: ${coldArtefacts} in turn, each from its file and verified`,
    'the comparison servers hold the one blob encoded in memory',
  ]
  return {
    title: 'resources/read, blob of 4 MiB, 4 connections',
    reference: 'bare-http',
    columns,
    rounds,
    notes,
  }
}
