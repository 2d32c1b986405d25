import type { Bench, Load } from '../bench.ts'
import { compare, startAll, withServerCpu } from '../compare.ts'
import { makeSceneText, sceneUri } from '../fixture.ts'
import { postScene } from '../host-link.ts'
import type { Transport } from '../load/transports.ts'
import type { FanOutResult } from '../load/fan-out.ts'
import { requestText } from '../load/http-text.ts'
import type { Figures } from '../stats.ts'
import type { Column, Measured } from '../table.ts'
import type { Target } from '../targets.ts'
import { rowName, speakersOf } from './transports.ts'

export interface FanOutPlan {
  readonly name: string
  readonly transport: Transport
  readonly streams: number
  readonly oneAtATime: number
  readonly burst: number
  readonly rounds: number
}

const columns: readonly Column[] = [
  { title: 'one: cpu ratio', figure: 'oneCpuUs', show: 'inverse' },
  { title: 'one: ratio', figure: 'onePerSecond', show: 'ratio' },
  { title: 'delivered', figure: 'oneDelivered', show: 'value' },
  { title: 'notif/s', figure: 'onePerSecond', show: 'value' },
  { title: 'ms to all', figure: 'oneP50Ms', show: 'value' },
  { title: 'burst: cpu ratio', figure: 'burstCpuMs', show: 'inverse' },
  { title: 'burst: ratio', figure: 'burstMs', show: 'inverse' },
  { title: 'burst ms', figure: 'burstMs', show: 'value' },
  { title: 'sent', figure: 'burstDelivered', show: 'value' },
  { title: 'final', figure: 'burstFinal', show: 'value' },
  { title: 'load cpu', figure: 'loadCpu', show: 'value' },
]

/** Scene updates to many open streams: one at a time, and all at once. */
export async function measureFanOut(bench: Bench, plan: FanOutPlan): Promise<Measured> {
  const notes: string[] = []
  const { transport } = plan
  const targets = await startAll(bench, speakersOf(transport, bench.settings.targets), notes)
  const load = bench.startLoad()
  const count = plan.streams
  const entries = targets.map(target => ({
    name: target.name,
    prepare: async () => {
      await postScene(target, bench.fixture.sceneText)
      const { name, mcp: place } = target
      await load.ask('openStreams', { name, transport, place, uri: sceneUri, count })
      await fanOut(load, target, 'oneAtATime', 10)
    },
    measure: () => measureOnce(load, target, plan),
  }))
  const compared = await compare(entries, plan.rounds)
  return {
    name: rowName(plan.name, transport),
    title: `scene updates to ${count} open streams, each ${transport === 'session' ? 'of an own session' : 'a subscriptions/listen'}`,
    reference: 'bare-http',
    columns,
    rounds: compared.rounds,
    notes: [
      `one: ${plan.oneAtATime} updates, each sent when all streams had heard the one before; delivered: share of the notifications due`,
      `burst: ${plan.burst} updates as fast as they are taken over four connections; time and CPU until nothing more arrives`,
      'sent: below 1 where a server merged updates for streams that were behind; final: share of the streams that heard something after the last update was sent',
      ...notes,
      ...compared.notes,
    ],
  }
}

async function measureOnce(load: Load, target: Target, plan: FanOutPlan): Promise<Figures> {
  const one = await fanOut(load, target, 'oneAtATime', plan.oneAtATime)
  const many = await fanOut(load, target, 'burst', plan.burst)
  return {
    oneCpuUs: (one.serverCpuMs * 1000) / one.notifications,
    onePerSecond: (one.notifications / one.elapsedMs) * 1000,
    oneDelivered: one.delivered,
    oneP50Ms: one.p50Ms,
    oneP99Ms: one.p99Ms,
    burstCpuMs: many.serverCpuMs,
    burstMs: many.elapsedMs,
    burstDelivered: many.delivered,
    burstFinal: many.final,
    loadCpu: one.loadCpu,
  }
}

/** Makes `count` updates and says what the streams opened for the target heard of them. */
export function fanOut(
  load: Load,
  target: Pick<Target, 'host' | 'cpuMs'> & { readonly name: string },
  kind: 'oneAtATime' | 'burst',
  count: number,
): Promise<FanOutResult & { serverCpuMs: number; loadCpu: number }> {
  const place = target.host('/v1/scene', { 'Content-Type': 'application/json' })
  const texts = Array.from({ length: count }, (_, i) =>
    requestText('POST', place, makeSceneText(i + 1)),
  )
  const updates = { port: place.port, texts }
  const { name } = target
  return withServerCpu(target, () =>
    load.ask<FanOutResult & { loadCpu: number }>(kind, { name, updates }),
  )
}
