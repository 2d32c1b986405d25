import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'
import { makePair, writePair } from '../../test/helpers/certificate.ts'
import type { Bench, Load } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { readCpuMs } from '../cpu.ts'
import { sceneUri } from '../fixture.ts'
import { type MeasuredGateway, startGateway } from '../gateways.ts'
import { postScene } from '../host-link.ts'
import { type AccountsTarget, register, startAccountsServer } from '../registry.ts'
import { callText } from '../load/transports.ts'
import type { Place } from '../load/http-text.ts'
import type { Measured } from '../table.ts'
import type { Target } from '../targets.ts'
import { fanOut } from './fan-out.ts'
import { underLoad } from './requests.ts'

const transport = 'stateless'
const connections = 16
const streams = 200
const knownMs = 10_000

/** One way to the resources of an instance. */
interface Way {
  readonly name: string
  readonly place: Place
  /** Of the scene: one for each connection, all of the same resource. */
  readonly uris: readonly string[]
  /** All processes on the way. */
  readonly pids: readonly number[]
}

/**
 * Reads and pushes of one instance: direct, and through a gateway that aggregates. Beside it what one
 * and two hops cost that do nothing.
 */
export async function measureAggregate(bench: Bench): Promise<Measured> {
  const registryDir = join(bench.folder, 'aggregate')
  const serve = await bench.start('serve', { registryDir })
  const gateway = await startGateway(bench, registryDir, ['--aggregate'])
  const title = 'an instance, direct and through a gateway with --aggregate'
  const controls = await startControls(bench, {})
  return compareWays(bench, { name: 'aggregate', title, serve, registryDir, gateway, controls })
}

/** The same of an instance that joined the gateway, over its link; all over TLS. */
export async function measureJoined(bench: Bench): Promise<Measured> {
  const registryDir = join(bench.folder, 'joined')
  const { certFile, keyFile } = await writePair(bench.folder, makePair())
  tls.setDefaultCACertificates([readFileSync(certFile, 'utf8')])
  const files = ['--tls-cert', certFile, '--tls-key', keyFile]
  const accounts = await startAccountsServer(bench, 'accounts')
  const token = await makeJoinToken(accounts, await register(accounts, 'joiner'))
  const flags = ['--aggregate', '--accept-joins', accounts.url, '--auth', 'none', ...files]
  const gateway = await startGateway(bench, join(bench.folder, 'joined-gateway'), flags)
  const serve = await bench.start('serve', {
    registryDir,
    serveArguments: ['--join', gateway.url, ...files],
    env: { SERVICE_JOIN_TOKEN: token, NODE_EXTRA_CA_CERTS: certFile },
  })
  const controls = await startControls(bench, { BENCH_TLS: bench.folder })
  const title = 'an instance, direct and through a gateway that it joined, over TLS'
  const ways = { name: 'joined', title, serve, registryDir, gateway, controls }
  return compareWays(bench, ways)
}

async function startControls(
  bench: Bench,
  env: Readonly<Record<string, string>>,
): Promise<readonly Way[]> {
  const bare = await bench.start('bare-http', { env })
  const relay = await bench.start('bare-relay', { env: { ...env, BENCH_RELAY_TO: bare.origin } })
  const uris = [sceneUri]
  return [
    { name: 'bare node:http', place: bare.mcp, uris, pids: [bare.pid] },
    { name: 'two bare hops', place: relay.mcp, uris, pids: [bare.pid, relay.pid] },
  ]
}

async function makeJoinToken({ url }: AccountsTarget, access: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/auth/tokens`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${access}` },
    body: JSON.stringify({ name: 'bench', scopes: ['instance'] }),
  })
  return ((await answer.json()) as { token: string }).token
}

interface Ways {
  readonly name: string
  readonly title: string
  readonly serve: Target
  /** Of `serve`. */
  readonly registryDir: string
  readonly gateway: MeasuredGateway
  /** Of which reads alone are measured. */
  readonly controls: readonly Way[]
}

async function compareWays(
  bench: Bench,
  { name, title, serve, registryDir, gateway, controls }: Ways,
): Promise<Measured> {
  await postScene(serve, bench.fixture.sceneText)
  const [id = ''] = readdirSync(join(registryDir, 'instances'))
    .filter(name => name.endsWith('.json'))
    .map(name => name.slice(0, -'.json'.length))
  const url = new URL(gateway.url)
  const direct: Way = { name: 'direct', place: serve.mcp, uris: [sceneUri], pids: [serve.pid] }
  const through: Way = {
    name: 'through the gateway',
    place: { port: Number(url.port), path: url.pathname },
    // In different spellings: readers of one spelling share a request.
    uris: Array.from(
      { length: connections },
      (_, at) => `instance://${id.slice(0, 20 + at)}/scene/current`,
    ),
    pids: [serve.pid, gateway.pid],
  }
  const shared = { ...through, name: 'through it, one spelling', uris: through.uris.slice(0, 1) }
  await untilKnown(gateway.url, id)
  const load = bench.startLoad()
  const secure = [direct, through, ...controls].filter(() => serve.origin.startsWith('https:'))
  await load.ask(
    'speakTls',
    secure.map(({ place }) => place.port),
  )
  const entries = [
    ...[direct, through, shared].map(way => entryOf(bench, load, serve, way)),
    ...controls.map(way => readsOf(bench, load, serve, way)),
  ]
  const { rounds, notes } = await compare(entries, bench.pick(7, 3))
  return {
    name,
    title,
    reference: 'direct',
    columns: [
      { title: 'read: cpu ratio', figure: 'cpuUs', show: 'inverse' },
      { title: 'us/read', figure: 'cpuUs', show: 'value' },
      { title: 'reads/s', figure: 'rps', show: 'value' },
      { title: 'p50 ms', figure: 'p50Ms', show: 'value' },
      { title: 'push: cpu ratio', figure: 'pushUs', show: 'inverse' },
      { title: 'us/notif', figure: 'pushUs', show: 'value' },
      { title: 'ms to all', figure: 'pushMs', show: 'value' },
      { title: 'delivered', figure: 'delivered', show: 'value' },
    ],
    rounds,
    notes: [
      'cpu: of the server and of the gateway together; ratios above 1 cost less than direct ones',
      `read: 2 KB over ${connections} connections, revision 2026-07-28; readers of one spelling of a URI share requests`,
      `push: one update after the other to ${streams} streams`,
      ...notes,
    ],
  }
}

/** Of all processes on the way. */
function cpuOf({ pids }: Way): () => Promise<number> {
  return async () => pids.reduce((total, pid) => total + (readCpuMs(pid) ?? Number.NaN), 0)
}

function readsOf(bench: Bench, load: Load, serve: Target, way: Way): Entry {
  const { name, place, uris } = way
  const target = { ...serve, port: place.port, mcp: place, cpuMs: cpuOf(way) }
  const texts = uris.map(uri =>
    callText(transport, place, { method: 'resources/read', params: { uri } }),
  )
  const sessions = new Array<string>(connections).fill('')
  const read = (milliseconds: number) => underLoad(load, target, texts, sessions, milliseconds)
  return {
    name,
    prepare: async () => void (await read(bench.pick(3000, 1000))),
    measure: () => read(bench.pick(2000, 1000)),
  }
}

function entryOf(bench: Bench, load: Load, serve: Target, way: Way): Entry {
  const { name, place, uris } = way
  const reads = readsOf(bench, load, serve, way)
  const target = { ...serve, name, cpuMs: cpuOf(way) }
  const push = (count: number) => fanOut(load, target, 'oneAtATime', count)
  return {
    name,
    prepare: async notes => {
      await reads.prepare?.(notes)
      await load.ask('openStreams', { name, transport, place, uri: uris[0], count: streams })
      await push(10)
      await load.ask('closeStreams', name)
    },
    measure: async round => {
      const figures = await reads.measure(round)
      await load.ask('openStreams', { name, transport, place, uri: uris[0], count: streams })
      const pushed = await push(bench.pick(100, 40))
      await load.ask('closeStreams', name)
      return {
        ...figures,
        pushUs: (pushed.serverCpuMs * 1000) / pushed.notifications,
        pushMs: pushed.p50Ms,
        delivered: pushed.delivered,
      }
    },
  }
}

/** The gateway has seen the record of the instance. */
async function untilKnown(url: string, id: string): Promise<void> {
  const { origin } = new URL(url)
  const end = performance.now() + knownMs
  for (;;) {
    const path = `/instances/${id}/artefacts/sha256/${'0'.repeat(64)}`
    const text = await (await fetch(`${origin}${path}`)).text()
    if (!text.includes('no such instance')) return
    if (performance.now() > end) throw new Error('the gateway does not know the instance')
    await delay(100)
  }
}
