/**
 * The memory of a gateway that aggregates: while a large artefact goes through it, and of
 * subscriptions at many instances. Usage: node bench/aggregate-memory.ts [MiB] [instances] [subscriptions] [joined]
 * With `joined` the instances join the gateway over links.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../test/helpers/until.ts'
import { Child } from './child.ts'
import { cleanEnvironment } from './targets.ts'
import {
  type AccountsProcess,
  createCaller,
  startAccountsProcess,
} from '../test/helpers/accounts.ts'
import { RawSession } from '../test/helpers/mcp.ts'
import { root } from '../test/helpers/program.ts'
import { type ServeProcess, startServeProcess } from '../test/helpers/serve-process.ts'
import { callStateless, statelessHeaders, statelessRequest } from '../test/helpers/stateless.ts'

const [mib = 1024, count = 20] = process.argv.slice(2, 4).map(Number)
const subscriptions = Number(process.argv[4] ?? 1000)
const MiB = 1024 * 1024

interface Memory {
  readonly heapUsed: number
  readonly external: number
}

const registryDir = await mkdtemp(join(tmpdir(), 'aggregate-memory-'))
const accounts = process.argv[5] === 'joined' ? await startAccountsProcess() : null
const joinToken = accounts === null ? '' : await makeJoinToken(accounts)
const accepting = accounts === null ? [] : ['--accept-joins', accounts.url, '--auth', 'none']
const probe = new URL('servers/probe.ts', import.meta.url).href
const flags = ['--port', '0', '--json', '--registry-dir', registryDir, '--aggregate', ...accepting]
const argv = ['--import', probe, join(root, 'bin/run.js'), 'gateway', ...flags]
const logFile = join(registryDir, 'gateway.log')
const gateway = new Child({ argv, env: cleanEnvironment(), logFile })
const { url } = JSON.parse(await gateway.firstLine(30_000)) as { url: string }

/** A token with which instances join. */
async function makeJoinToken({ url }: AccountsProcess): Promise<string> {
  const caller = createCaller(url)
  const { access_token: access } = await caller.register('joiner')
  const body = { name: 'bench', scopes: ['instance'] }
  return (await caller.call('POST', '/tokens', access, body)).json.token
}

/** The most bytes that the gateway had since its start. */
async function peakBytes(): Promise<number> {
  const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
}

/** After garbage was collected. */
async function heldBytes(): Promise<number> {
  const { heapUsed, external } = (await gateway.ask('memory', null, 60_000)) as Memory
  return heapUsed + external
}

/** Reads the answer and forgets it; resolves with its bytes. */
function bytesOf(address: string, method: string, headers = {}, body?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const req = request(address, { method, headers }, res => {
      let bytes = 0
      res.on('data', (chunk: Buffer) => (bytes += chunk.length))
      res.on('end', () => resolve(bytes))
      res.on('error', reject)
    })
    req.on('error', reject)
    req.end(body)
  })
}

const serves: ServeProcess[] = []
for (let started = 0; started < count; started++) {
  const join = { flags: ['--join', url], env: { SERVICE_JOIN_TOKEN: joinToken } }
  serves.push(await startServeProcess(accounts === null ? { registryDir } : join))
}
const [first] = serves
if (first === undefined) throw new Error('there must be one instance')
const hex = await first.store(Buffer.alloc(mib * MiB, 'large'))

const own = `instance://${first.instanceId}/scene/current`
await until(async () => {
  const { json } = await callStateless(url, 'resources/read', { uri: own })
  return json.result !== undefined
}, 'the instance at the gateway')
const before = await peakBytes()
const path = `/instances/${first.instanceId}/artefacts/sha256/${hex}`
const downloaded = await bytesOf(new URL(path, url).href, 'GET')
const uri = `instance://${first.instanceId}/artefact/sha256/${hex}`
const body = JSON.stringify(statelessRequest('resources/read', { uri }))
const read = await bytesOf(url, 'POST', statelessHeaders('resources/read', { uri }), body)
const after = await peakBytes()
const { now, peak } = first.rss()
console.log(
  `${mib} MiB by download (${downloaded} bytes) and by resources/read (${read} bytes): ` +
    `peak ${Math.round(after / MiB)} MiB, ${Math.round(before / MiB)} MiB before; ` +
    `the instance: peak ${Math.round(peak / MiB)} MiB, ${Math.round(now / MiB)} MiB after`,
)

const each = subscriptions / count
const sessions = await Promise.all(serves.map(() => RawSession.open(url)))
await Promise.all(sessions.map(session => session.listen()))
const ask = async (method: string) => {
  for (const [at, session] of sessions.entries()) {
    for (let number = 1; number <= each; number++) {
      const uri = `instance://${serves[at]?.instanceId}/notes/${number}`
      const { error } = await session.call(method, { uri })
      if (error !== undefined) throw new Error(error.message)
    }
  }
}
// What requests cost is no part of it.
await ask('resources/subscribe')
await ask('resources/unsubscribe')
const start = await heldBytes()
await ask('resources/subscribe')
const end = await heldBytes()
const kib = (end - start) / subscriptions / 1024
console.log(`${subscriptions} subscriptions at ${count} instances: ${kib.toFixed(1)} KiB each`)

await accounts?.stop()
await gateway.stop()
await Promise.all(serves.map(serve => serve.stop()))
await rm(registryDir, { recursive: true, force: true })
process.exit()
