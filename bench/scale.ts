/**
 * A gateway with many joined instances: one link each, clients that follow them, and changes all the
 * time. Usage: node bench/scale.ts [instances] [seconds] [clients] [changes a second]
 * Instances and clients are in this one process. Each instance is a server with a small scene and
 * the code of `serve --join`; every instance has as many clients.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { Secret } from '../src/lib/util/secret.ts'
import { connectLink } from '../src/server/join/connect-link.ts'
import { serveOnLink } from '../src/server/join/link-server.ts'
import { McpHttpServer } from '../src/server/mcp/mcp-http-server.ts'
import { createCaller, startAccountsProcess } from '../test/helpers/accounts.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { startGatewayProcess } from '../test/helpers/gateway-process.ts'
import { toldRecord } from '../test/helpers/join.ts'
import { statelessHeaders, statelessRequest } from '../test/helpers/stateless.ts'
import { readCpuMs } from './cpu.ts'
import { describeMachine } from './machine.ts'
import { quantile } from './stats.ts'

const [count = 100, seconds = 10, clients = 500, rate = 100] = process.argv.slice(2).map(Number)
const MiB = 1024 * 1024
const atOnce = 20
/** Everything beside the measured time. */
const setUpMs = 300_000
const linksOfUser = 50

const tooLate = setTimeout(
  () => {
    console.error('the run took too long')
    process.exit(1)
  },
  setUpMs + seconds * 1000,
)
const folder = await mkdtemp(join(tmpdir(), 'scale-'))
const accounts = await startAccountsProcess()
const gateway = startGatewayProcess({
  port: await freePort(),
  registryDir: folder,
  flags: ['--aggregate', '--accept-joins', accounts.url, '--auth', 'none'],
})
const { url } = await gateway.line('listening')
const stop = new AbortController()

const each = async (many: number, task: (index: number) => Promise<void>) => {
  let next = 0
  const lane = async () => {
    for (let index = next++; index < many; index = next++) await task(index)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

/** One for every user; each may have some links. */
async function makeTokens(): Promise<string[]> {
  const caller = createCaller(accounts.url)
  const tokens: string[] = []
  for (let user = 0; user * linksOfUser < count; user++) {
    const { access_token: access } = await caller.register(`user${user}`)
    const body = { name: 'bench', scopes: ['instance'] }
    tokens.push((await caller.call('POST', '/tokens', access, body)).json.token)
  }
  return tokens
}

const scene = (revision: number) => ({
  document: { name: 'shot.blend' },
  objects: Array.from({ length: 20 }, (_, id) => ({ id: `Cube${id}`, x: revision, y: 0, z: 0 })),
})

interface Simulated {
  readonly id: string
  readonly server: McpHttpServer
}

async function startInstance(index: number, token: string): Promise<Simulated> {
  const id = `${String(index).padStart(8, '0')}-0000-4000-8000-000000000000`
  const named = { instance_id: id, dcc_type: 'maya', display_name: 'scripted', scene: null }
  const instance = () => named
  const server = new McpHttpServer({ enableTools: true }, { instance })
  await server.start()
  server.resources().setScene(scene(0))
  const joined = Promise.withResolvers<void>()
  const link = await connectLink({
    gateway: new URL(url).origin,
    token: new Secret(token),
    instanceId: id,
    received: () => joined.resolve(),
    signal: stop.signal,
  })
  serveOnLink(link, server.linkListener())
  link.sendText(JSON.stringify({ ...toldRecord(id), visible_to: 'all' }))
  void link.ended.then(({ reason }) => {
    if (stop.signal.aborted) return
    console.error(`a link ended: ${reason}`)
    process.exit(1)
  })
  await joined.promise
  return { id, server }
}

const uriOf = (id: string) => `instance://${id}/scene/current`
const form = /instance:\/\/(\d{8})-[0-9a-f-]+\/scene\/current/g

/** When the last change of each instance began; ms. */
const changedAt = new Float64Array(count)
const latencies: number[] = []

/** Follows the scenes; resolves when the gateway has accepted the subscriptions. */
function follow(ids: readonly string[]): Promise<void> {
  const params = { notifications: { resourceSubscriptions: ids.map(uriOf) } }
  const method = 'subscriptions/listen'
  return new Promise((resolve, reject) => {
    const headers = statelessHeaders(method)
    const sent = request(url, { method: 'POST', headers, agent: false }, answer => {
      if (answer.statusCode !== 200) return reject(new Error(`HTTP ${answer.statusCode}`))
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        const end = text.lastIndexOf('\n\n')
        if (end === -1) return
        const frames = text.slice(0, end)
        text = text.slice(end + 2)
        const now = performance.now()
        for (const frame of frames.split('\n\n')) {
          if (frame.includes('acknowledged')) resolve()
          else if (frame.includes('notifications/resources/updated')) {
            for (const [, index] of frame.matchAll(form)) {
              latencies.push(now - (changedAt[Number(index)] ?? 0))
            }
          }
        }
      })
      answer.on('error', () => {})
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(statelessRequest(method, params)))
  })
}

async function memory(): Promise<number> {
  const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
}
const mib = (bytes: number) => `${Math.round(bytes / MiB)} MiB`
const share = (cpuMs: number, wallMs: number) => `${Math.round((100 * cpuMs) / wallMs)} % of a core`

const empty = await memory()
const tokens = await makeTokens()
const instances: Simulated[] = []
const joinStart = performance.now()
await each(count, async index => {
  instances[index] = await startInstance(index, tokens[Math.floor(index / linksOfUser)] ?? '')
})
const joinMs = performance.now() - joinStart
const joined = await memory()

// The number of clients of an instance is the same for any number of instances.
const ofEach = Math.max(1, Math.round(count / 100))
await each(clients, index =>
  follow(
    Array.from({ length: ofEach }, (_, at) => instances[(index * ofEach + at) % count]?.id ?? ''),
  ),
)
const followed = await memory()

const idleMs = 5000
const idleStart = readCpuMs(gateway.pid) ?? NaN
await delay(idleMs)
const idle = (readCpuMs(gateway.pid) ?? NaN) - idleStart

const periodMs = 1000 / rate
const changes = seconds * rate
const ownStart = process.cpuUsage()
const cpuStart = readCpuMs(gateway.pid) ?? NaN
const start = performance.now()
for (let done = 0; done < changes; done++) {
  const index = done % count
  changedAt[index] = performance.now()
  instances[index]?.server.resources().setScene(scene(done + 1))
  const due = start + (done + 1) * periodMs
  if (due > performance.now()) await delay(due - performance.now())
}
const tookMs = performance.now() - start
const cpu = (readCpuMs(gateway.pid) ?? NaN) - cpuStart
const { user, system } = process.cpuUsage(ownStart)
// What is still on its way.
await delay(2000)
const expected = Math.round((changes * clients * ofEach) / count)

const lines = [
  `${count} instances, ${clients} clients with ${ofEach} subscriptions each, ${rate} changes a second for ${seconds} s`,
  `joined in ${(joinMs / 1000).toFixed(1)} s; memory of the gateway: ${mib(empty)} empty, ${mib(joined)} with links, ${mib(followed)} with subscriptions, ${mib(await memory())} at the end`,
  `CPU of the gateway: ${share(idle, idleMs)} without changes, ${share(cpu, tookMs)} with them; of instances and clients: ${share((user + system) / 1000, tookMs)}`,
  `${latencies.length} of ${expected} notifications; from change to client: p50 ${quantile(latencies, 0.5).toFixed(1)} ms, p95 ${quantile(latencies, 0.95).toFixed(1)} ms, most ${Math.max(...latencies.slice(-100_000)).toFixed(1)} ms`,
  `changes a second that were made: ${((changes / tookMs) * 1000).toFixed(1)}`,
]
console.log(describeMachine())
for (const line of lines) console.log(line)

stop.abort()
clearTimeout(tooLate)
await gateway.stop()
await accounts.stop()
await rm(folder, { recursive: true, force: true })
process.exit()
