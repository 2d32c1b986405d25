import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { readCpuMs } from '../cpu.ts'
import { startGateway } from '../gateways.ts'
import { type Herd, startHerd } from '../instances.ts'
import { medianOf } from '../stats.ts'
import type { Measured } from '../table.ts'

const reads = 20
/** So short that the row need not wait for half a minute, and longer than a heartbeat. */
const staleMs = 30_000

/** What a gateway costs that nobody asks, and how long the list takes. */
export async function measureGateway(bench: Bench): Promise<Measured> {
  const windowMs = bench.pick(10_000, 4000)
  const herds: Herd[] = []
  const kinds: readonly (readonly [name: string, records: number, beating: number])[] = [
    ['no instance', 0, 0],
    ['no instance again', 0, 0],
    ['1000 records', 1000, 0],
    ['1000 records, 200 beating', 1000, 200],
  ]
  const entries: Entry[] = []
  for (const [name, records, beating] of kinds) {
    const own = mkdtempSync(join(bench.folder, 'gateway-'))
    const registryDir = join(own, 'registry')
    herds.push(await startHerd(registryDir, records, beating))
    const gateway = await startGateway(bench, registryDir)
    entries.push({
      name,
      measure: async () => {
        const cpuPerSecond = await cpuOf(gateway.pid, windowMs)
        return { cpuPerSecond, ...(await readLists(gateway.url)) }
      },
    })
  }
  try {
    // As they are from then on: those that beat are live, the others are stale.
    await delay(staleMs + 1000)
    const { rounds, notes } = await compare(entries, bench.pick(3, 1))
    return {
      name: 'gateway',
      title: 'a gateway that looks at its instances',
      reference: 'no instance',
      columns: [
        { title: 'cpu ms/s', figure: 'cpuPerSecond', show: 'value' },
        { title: 'rows', figure: 'rows', show: 'value' },
        { title: 'list ms', figure: 'listMs', show: 'value' },
        { title: 'list KB', figure: 'listKb', show: 'value' },
      ],
      rounds,
      notes: [
        `cpu ms/s: CPU of the whole process, of a second in which nobody asks it anything, over ${windowMs / 1000} s`,
        'beating: touched every 5 s, and asked whether it is ready every 5 s; the others are stale',
        `list ms: median of ${reads} reads of gateway://instances, one after the other`,
        ...notes,
      ],
    }
  } finally {
    for (const herd of herds) herd.stop()
  }
}

async function cpuOf(pid: number, windowMs: number): Promise<number> {
  const before = readCpuMs(pid)
  const startedMs = performance.now()
  await delay(windowMs)
  const after = readCpuMs(pid)
  if (before === undefined || after === undefined) return Number.NaN
  return ((after - before) / (performance.now() - startedMs)) * 1000
}

async function readLists(url: string) {
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  const post = async (method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = await fetch(url, { method: 'POST', headers, body })
    return { answer, text: await answer.text() }
  }
  const clientInfo = { name: 'bench', version: '1' }
  const opening = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const { answer } = await post('initialize', opening)
  headers['Mcp-Session-Id'] = answer.headers.get('mcp-session-id') ?? ''
  const times: { ms: number }[] = []
  let text = ''
  for (let read = 0; read < reads; read++) {
    const startedMs = performance.now()
    text = (await post('resources/read', { uri: 'gateway://instances' })).text
    times.push({ ms: performance.now() - startedMs })
  }
  const { result } = JSON.parse(text) as { result: { contents: { text: string }[] } }
  const list = JSON.parse(result.contents[0]?.text ?? '{}') as { instances?: unknown[] }
  await fetch(url, { method: 'DELETE', headers })
  return {
    rows: list.instances?.length ?? Number.NaN,
    listMs: medianOf({ reads: times }, 'reads', 'ms'),
    listKb: text.length / 1024,
  }
}
