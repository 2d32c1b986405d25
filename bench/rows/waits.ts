import { once } from 'node:events'
import { Agent, type IncomingMessage, request, type RequestOptions } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { statelessHeaders, statelessRequest } from '../../test/helpers/stateless.ts'
import type { Bench } from '../bench.ts'
import { compare, type Entry } from '../compare.ts'
import { sceneUri } from '../fixture.ts'
import { postScene } from '../host-link.ts'
import type { Figures } from '../stats.ts'
import type { Measured } from '../table.ts'
import type { Target, TargetName } from '../targets.ts'

const settleMs = 2000
const opensAtOnce = 32
/** Longer than a call may wait. */
const answerMs = 60_000

/** What a call of `wait_for_change` costs while it waits, beside an idle stream. */
export async function measureWaits(bench: Bench): Promise<Measured> {
  const count = bench.pick(1000, 200)
  const idleMs = bench.pick(10_000, 2000)
  const entry = (name: string, server: TargetName, open: Open): Entry => ({
    name,
    measure: () => measureOpen(bench, server, open, { count, idleMs }),
  })
  const { rounds, notes } = await compare(
    [
      entry('idle streams', 'serve', openStreams),
      entry('waiting calls', 'serve', openWaits),
      entry('idle streams of bare-http', 'bare-http', openStreams),
      entry('held calls of bare-http', 'bare-http', openWaits),
    ],
    bench.pick(3, 1),
  )
  return {
    name: 'waits',
    title: `${count} calls of wait_for_change, beside as many idle streams`,
    reference: 'idle streams',
    columns: [
      { title: `KB each of ${count}`, figure: 'firstKb', show: 'value' },
      { title: `of ${count} more`, figure: 'secondKb', show: 'value' },
      { title: `CPU ms in ${idleMs / 1000} s`, figure: 'cpuMs', show: 'value' },
      { title: 'answered', figure: 'answered', show: 'value' },
    ],
    rounds,
    notes: [
      'held calls: requests that are answered when the scene changes, with nothing done in between',
      'garbage collected before each look at the memory; the first ones also grow the heap itself',
      ...notes,
    ],
  }
}

/** Returns what waits until all heard of a change, and says how many did. */
type Open = (bench: Bench, target: Target, count: number) => Promise<() => Promise<number>>

async function measureOpen(
  bench: Bench,
  server: TargetName,
  open: Open,
  { count, idleMs }: { readonly count: number; readonly idleMs: number },
): Promise<Figures> {
  const target = await bench.start(server)
  try {
    await postScene(target, bench.fixture.sceneText)
    // What the first ones load and compile stays out of the measurement.
    const warm = await open(bench, target, 50)
    await delay(settleMs)
    await postScene(target, bench.fixture.sceneText)
    await warm()
    const none = await target.residentBytes()
    const heard = await open(bench, target, count)
    await delay(settleMs)
    const first = await target.residentBytes()
    const cpuBefore = await target.cpuMs()
    await delay(idleMs)
    const cpuMs = (await target.cpuMs()) - cpuBefore
    const heardToo = await open(bench, target, count)
    await delay(settleMs)
    const second = await target.residentBytes()
    await postScene(target, bench.fixture.sceneText)
    const answered = ((await heard()) + (await heardToo())) / (2 * count)
    const kbEach = (bytes: number) => bytes / 1024 / count
    return { firstKb: kbEach(first - none), secondKb: kbEach(second - first), cpuMs, answered }
  } finally {
    await bench.stopAll()
  }
}

async function openStreams(bench: Bench, target: Target, count: number) {
  const load = bench.startLoad()
  const { name, mcp: place } = target
  await load.ask('openStreams', { name, transport: 'stateless', place, uri: sceneUri, count })
  return async () => count
}

async function openWaits(_: Bench, { mcp: { port, path } }: Target, count: number) {
  const params = { name: 'wait_for_change', arguments: { timeout_s: 45 } }
  const headers = statelessHeaders('tools/call', params)
  const body = JSON.stringify(statelessRequest('tools/call', params))
  const agent = new Agent({ maxSockets: Infinity })
  const answers: Promise<boolean>[] = []
  while (answers.length < count) {
    answers.push(waitOnce({ host: '127.0.0.1', port, path, method: 'POST', headers, agent }, body))
    // Streams are opened few at a time, too: what a burst takes at its height stays with the process.
    if (answers.length % opensAtOnce === 0) await delay(20)
  }
  return async () => (await Promise.all(answers)).filter(Boolean).length
}

async function waitOnce(options: RequestOptions, body: string): Promise<boolean> {
  const req = request({ ...options, signal: AbortSignal.timeout(answerMs) })
  req.end(body)
  try {
    const [res] = (await once(req, 'response')) as [IncomingMessage]
    return (await res.setEncoding('utf8').toArray()).join('').includes('changed: scene://')
  } catch {
    return false
  }
}
