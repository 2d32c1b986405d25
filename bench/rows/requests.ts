/** Rows of requests: reads, lists, sessions, blobs, uploads. */
import type { Bench } from '../bench.ts'
import { blobUri, makeSceneText, sceneUri } from '../fixture.ts'
import { closedLoop, measureWork, upload } from '../load.ts'
import type { Column, Entry, Row } from '../measure.ts'
import { resultOf, type Sent, type Server } from '../server.ts'

/** Encoded 171 MiB, more than `serve` keeps encoded. */
const coldArtefacts = 32

const reference = 'bare-http'
const columns: readonly Column[] = [
  { title: 'cpu ratio', figure: 'cpuUs', show: 'inverse' },
  { title: 'rate ratio', figure: 'perSecond', show: 'ratio' },
  { title: 'requests/s', figure: 'perSecond', show: 'value' },
  { title: 'server us/request', figure: 'cpuUs', show: 'value' },
]

interface Asked {
  readonly server: Server
  /** All that work on it; their CPU counts together. */
  readonly servers?: readonly Server[]
  readonly name?: string
  readonly connections?: number
  readonly ms?: number
  /** What the connection of a session asks for, in turn. */
  readonly asked: (session: string) => readonly Sent[]
}

/** An entry whose connections ask one server the same again and again. */
export function askingEntry(bench: Bench, asking: Asked): Entry {
  const { server, servers = [server], name = server.name, connections = 16, asked } = asking
  const { ms = bench.pick(300, 250) } = asking
  const requests: (readonly Sent[])[] = []
  const run = (milliseconds: number) =>
    measureWork(servers, () => closedLoop(server, requests, milliseconds))
  return {
    name,
    prepare: async () => {
      for (let i = 0; i < connections; i++) requests.push(asked(await server.openSession()))
      for (const sent of requests[0] ?? []) await resultOf(sent)
      await run(bench.pick(1500, 400))
    },
    measure: () => run(ms),
  }
}

export function readsOf(server: Server, uris: readonly string[]): Asked['asked'] {
  return session => uris.map(uri => server.call(session, 'resources/read', { uri }))
}

/** resources/read of a scene of 2 KB: guards on, access log written to a file. */
export async function readRow(bench: Bench): Promise<Row> {
  const servers = await bench.startAll()
  for (const server of servers) await server.postScene(makeSceneText(0))
  const entries = servers.map(server =>
    askingEntry(bench, { server, asked: readsOf(server, [sceneUri]) }),
  )
  const title = 'resources/read, 2 KB of JSON, 16 connections'
  return { title, reference, columns, entries, rounds: bench.pick(21, 3) }
}

/** resources/list; the others list what `serve` lists. */
export async function listRow(bench: Bench): Promise<Row> {
  const ours: Server[] = []
  let resources: unknown[] = []
  for (const build of bench.builds) {
    const server = await bench.startBuild(build)
    await server.postScene(makeSceneText(0))
    for (let seed = 0; seed < 4; seed++) await server.postArtefact(seed, 1024)
    const list = server.call(await server.openSession(), 'resources/list')
    resources = (await resultOf(list)).resources
    ours.push(server)
  }
  const others = await bench.startOthers({ BENCH_RESOURCES: JSON.stringify(resources) })
  const entries = [...others, ...ours].map(server =>
    askingEntry(bench, { server, asked: session => [server.call(session, 'resources/list')] }),
  )
  const title = `resources/list, ${resources.length} resources, 16 connections`
  return { title, reference, columns, entries, rounds: bench.pick(21, 3) }
}

/** Beyond 10,000 sessions the one that was idle for longest ends. */
export async function initializeRow(bench: Bench): Promise<Row> {
  const servers = await bench.startAll()
  const entries = servers.map(server =>
    askingEntry(bench, { server, asked: () => [server.initialize()] }),
  )
  const title = 'initialize, 16 connections; serve also tells clients how to find their way about'
  return { title, reference, columns, entries, rounds: bench.pick(21, 3) }
}

/** resources/read of 4 MiB: hot, always the same; cold, many in turn, each from its file. */
export async function blobRow(bench: Bench): Promise<Row> {
  const entries: Entry[] = []
  const add = (server: Server, uris: readonly string[], name = server.name) => {
    const load = { connections: 4, ms: bench.pick(1000, 300) }
    entries.push(askingEntry(bench, { ...load, server, name, asked: readsOf(server, uris) }))
  }
  for (const server of await bench.startOthers()) add(server, [blobUri])
  for (const build of bench.builds) {
    const server = await bench.startBuild(build)
    const hot = await server.postArtefact(0)
    const cold: string[] = []
    for (let seed = 1; seed <= coldArtefacts; seed++) cold.push(await server.postArtefact(seed))
    add(server, [hot], `${server.name} (hot)`)
    add(server, cold, `${server.name} (cold)`)
  }
  const title =
    'resources/read, 4 MiB, 4 connections; cold: from the file, the others have it encoded'
  return { title, reference, columns, entries, rounds: bench.pick(5, 3) }
}

/** Uploads, each durable when it is answered. */
export async function putRow(bench: Bench): Promise<Row> {
  const servers = [await bench.startOther(reference)]
  for (const build of bench.builds) servers.push(await bench.startBuild(build))
  const put = (server: Server, count: number) => measureWork([server], () => upload(server, count))
  const entries = servers.map(server => ({
    name: server.name,
    prepare: () => put(server, 5),
    measure: () => put(server, bench.pick(20, 10)),
  }))
  const title = 'upload of 4 MiB, one after the other; bare-http: SHA-256, write, fsync, rename'
  return { title, reference, columns, entries, rounds: bench.pick(5, 3) }
}
