/** Rows of an instance behind a gateway: on the same machine, and joined over a link. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'
import { makePair, writePair } from '../../test/helpers/certificate.ts'
import type { Bench } from '../bench.ts'
import type { Child } from '../child.ts'
import { sceneUri } from '../fixture.ts'
import { compare, type Entry, type Table } from '../measure.ts'
import type { Server } from '../server.ts'
import { underLoad } from './requests.ts'
import { fanOut, openStreams } from './streams.ts'

const connections = 16
const streams = 200

/** One way to the scene of an instance. */
interface Way {
  readonly name: string
  readonly url: string
  /** Asked for by one connection each, in turn. */
  readonly uris: readonly string[]
  /** All processes on the way. */
  readonly servers: readonly Server[]
}

/** Reads and pushes of one instance: direct, and through a gateway that aggregates. */
export async function measureAggregate(bench: Bench): Promise<Table> {
  const { entry } = bench
  const folder = bench.folder('aggregate')
  const serve = await bench.startOurs('serve', entry, ['serve', '--registry-dir', folder])
  const flags = ['gateway', '--registry-dir', folder, '--aggregate']
  const gateway = await bench.startOurs('gateway', entry, flags)
  const title = 'an instance, direct and through a gateway with --aggregate'
  return compareWays(bench, title, { serve, gateway, folder })
}

/** The same of an instance that joined the gateway, over its link; all over TLS. */
export async function measureJoined(bench: Bench): Promise<Table> {
  const { entry } = bench
  const { certFile, keyFile } = await writePair(bench.folder('tls'), makePair())
  tls.setDefaultCACertificates([readFileSync(certFile, 'utf8')])
  const files = ['--tls-cert', certFile, '--tls-key', keyFile]
  const data = bench.folder('data')
  const accounts = await bench.startOurs('registry', entry, ['registry', '--data-dir', data])
  const flags = [
    'gateway',
    '--aggregate',
    '--accept-joins',
    accounts.origin,
    '--auth',
    'none',
    ...files,
  ]
  const gateway = await bench.startOurs('gateway', entry, flags)
  const folder = bench.folder('joined')
  const joining = ['serve', '--registry-dir', folder, '--join', gateway.url, ...files]
  const serve = await bench.startOurs('serve', entry, joining, {
    SERVICE_JOIN_TOKEN: await makeJoinToken(accounts.origin),
    NODE_EXTRA_CA_CERTS: certFile,
  })
  const title = 'an instance, direct and through a gateway that it joined, over TLS'
  const env = { BENCH_CERT: certFile, BENCH_KEY: keyFile }
  return compareWays(bench, title, { serve, gateway, folder, env })
}

async function makeJoinToken(origin: string): Promise<string> {
  const account = { username: 'joiner', email: 'joiner@bench.example' }
  const post = async (path: string, body: object, token?: string) => {
    const headers = {
      'Content-Type': 'application/json',
      ...(token && { Authorization: `Bearer ${token}` }),
    }
    const url = `${origin}/api/v1/auth/${path}`
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return answer.json() as Promise<Record<string, string>>
  }
  const { access_token } = await post('register', {
    ...account,
    password: 'correct horse battery bench',
  })
  const { token = '' } = await post('tokens', { name: 'bench', scopes: ['instance'] }, access_token)
  return token
}

interface Ways {
  readonly serve: Server
  readonly gateway: Server
  /** Where `serve` has its record. */
  readonly folder: string
  /** Of the controls. */
  readonly env?: Record<string, string>
}

async function compareWays(
  bench: Bench,
  title: string,
  { serve, gateway, folder, env = {} }: Ways,
): Promise<Table> {
  const bare = await bench.startOther('bare-http', { env })
  const relay = await bench.startOther('bare-relay', {
    env: { ...env, BENCH_RELAY_TO: bare.origin },
  })
  await serve.postScene(bench.fixture.sceneText)
  const records = readdirSync(join(folder, 'instances'))
  const id = records.find(file => file.endsWith('.json'))?.slice(0, -'.json'.length) ?? ''
  await untilKnown(gateway, id)
  const through = { url: gateway.url, servers: [serve, gateway] }
  // In different spellings: readers of one spelling share a request.
  const spellings = Array.from(
    { length: connections },
    (_, at) => `instance://${id.slice(0, 20 + at)}/scene/current`,
  )
  const ways: readonly Way[] = [
    { name: 'direct', url: serve.url, uris: [sceneUri], servers: [serve] },
    { name: 'through the gateway', uris: spellings, ...through },
    { name: 'through it, one spelling', uris: spellings.slice(0, 1), ...through },
  ]
  const controls: readonly Way[] = [
    { name: 'bare node:http', url: bare.url, uris: [sceneUri], servers: [bare] },
    { name: 'two bare hops', url: relay.url, uris: [sceneUri], servers: [bare, relay] },
  ]
  const load = bench.startLoad()
  const entries = [
    ...ways.map(way => withPushes(bench, load, serve, way)),
    ...controls.map(way => readsOf(bench, load, serve, way)),
  ]
  return {
    title,
    reference: 'direct',
    columns: [
      { title: 'read: times the CPU', figure: 'cpuUs', show: 'ratio' },
      { title: 'us/read', figure: 'cpuUs', show: 'value' },
      { title: 'reads/s', figure: 'rps', show: 'value' },
      { title: 'p50 ms', figure: 'p50Ms', show: 'value' },
      { title: 'push: times the CPU', figure: 'pushUs', show: 'ratio' },
      { title: 'us/notif', figure: 'pushUs', show: 'value' },
      { title: 'ms to all', figure: 'pushMs', show: 'value' },
      { title: 'delivered', figure: 'delivered', show: 'value' },
    ],
    rounds: await compare(entries, bench.pick(7, 3)),
    notes: [
      'CPU: of all processes on the way together; readers of one spelling of a URI share requests',
      `read: 2 KB over ${connections} connections; push: one update after the other to ${streams} streams`,
    ],
  }
}

function readsOf(
  bench: Bench,
  load: Child,
  serve: Server,
  { name, url, uris, servers }: Way,
): Entry {
  const requests: ReturnType<Server['call']>[][] = []
  const read = (milliseconds: number) => underLoad(load, servers, { requests, milliseconds })
  return {
    name,
    prepare: async () => {
      const calls = (session: string) =>
        uris.map(uri => serve.call(session, 'resources/read', { uri }, url))
      for (let i = 0; i < connections; i++)
        requests.push(calls(await serve.openSession(uris[0], url)))
      await read(bench.pick(3000, 1000))
    },
    measure: () => read(bench.pick(2000, 1000)),
  }
}

function withPushes(bench: Bench, load: Child, serve: Server, way: Way): Entry {
  const { name, url, uris, servers } = way
  const reads = readsOf(bench, load, serve, way)
  const push = async (count: number) => {
    await openStreams(load, name, serve, streams, [uris[0], url])
    const pushed = await fanOut(load, { name, server: serve, servers }, count)
    await load.ask('closeStreams', name)
    return pushed
  }
  return {
    name,
    prepare: async () => {
      await reads.prepare?.()
      await push(10)
    },
    measure: async () => {
      const figures = await reads.measure()
      const { serverCpuMs, notifications, p50Ms, delivered } = await push(bench.pick(100, 40))
      return { ...figures, pushUs: (serverCpuMs * 1000) / notifications, pushMs: p50Ms, delivered }
    },
  }
}

/** The gateway has seen the record of the instance. */
async function untilKnown({ origin }: Server, id: string): Promise<void> {
  const end = performance.now() + 10_000
  while (performance.now() < end) {
    const path = `/instances/${id}/artefacts/sha256/${'0'.repeat(64)}`
    const text = await (await fetch(origin + path)).text()
    if (!text.includes('no such instance')) return
    await delay(100)
  }
  throw new Error('the gateway does not know the instance')
}
