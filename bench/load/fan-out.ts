import { performance } from 'node:perf_hooks'
import { quantile } from '../stats.ts'
import { Connection } from './connection.ts'
import type { Streams } from './streams.ts'

export interface Updates {
  readonly port: number
  /** Complete requests, each of which changes the scene. */
  readonly texts: readonly string[]
}

export interface FanOutResult {
  readonly elapsedMs: number
  readonly notifications: number
  /** Of the notifications that there would be if every update reached every stream. */
  readonly delivered: number
  /** Share of the streams that heard something after the last update had been sent. */
  readonly final: number
  /** Until all streams had heard an update, one at a time only. */
  readonly p50Ms: number
  readonly p99Ms: number
}

const updateTimeoutMs = 5000
const burstTimeoutMs = 20_000
const quietMs = 300
const senders = 4

/** The next update is sent when every stream has heard the one before. */
export async function oneAtATime(streams: Streams, updates: Updates): Promise<FanOutResult> {
  streams.reset()
  const connection = await Connection.open(updates.port)
  const times: number[] = []
  let lastSentMs = 0
  try {
    const started = performance.now()
    for (const [index, text] of updates.texts.entries()) {
      const sent = (lastSentMs = performance.now())
      const heard = streams.waitFor((index + 1) * streams.size, updateTimeoutMs)
      await sendUpdate(connection, text)
      if (!(await heard)) break
      times.push(streams.lastArrivalMs - sent)
    }
    const elapsedMs = performance.now() - started
    const quantiles = { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) }
    return { ...outcome(streams, updates.texts.length, lastSentMs), elapsedMs, ...quantiles }
  } finally {
    connection.close()
  }
}

/**
 * All updates as fast as the server takes them over a few connections; the very last alone, when
 * the others have been taken. A server may merge updates for a stream that is behind, so the time
 * runs until nothing more arrives, and what counts is that each stream heard of the last one.
 */
export async function burst(streams: Streams, updates: Updates): Promise<FanOutResult> {
  streams.reset()
  const connections = await Promise.all(
    Array.from({ length: senders }, () => Connection.open(updates.port)),
  )
  try {
    const queue = updates.texts.slice(0, -1)
    const last = updates.texts.at(-1) ?? ''
    const started = performance.now()
    let next = 0
    await Promise.all(
      connections.map(async connection => {
        for (let text = queue[next++]; text !== undefined; text = queue[next++]) {
          await sendUpdate(connection, text)
        }
      }),
    )
    const lastSentMs = performance.now()
    const [first] = connections
    if (first !== undefined) await sendUpdate(first, last)
    await settled(streams, updates.texts.length * streams.size)
    const elapsedMs = streams.lastArrivalMs - started
    const noTimes = { p50Ms: Number.NaN, p99Ms: Number.NaN }
    return { ...outcome(streams, updates.texts.length, lastSentMs), elapsedMs, ...noTimes }
  } finally {
    for (const connection of connections) connection.close()
  }
}

/** Until everything possible has arrived, or nothing has for a while. */
async function settled(streams: Streams, possible: number): Promise<void> {
  const deadline = performance.now() + burstTimeoutMs
  for (;;) {
    const before = streams.total
    if (await streams.waitFor(possible, quietMs)) return
    if (streams.total === before || performance.now() > deadline) return
  }
}

async function sendUpdate(connection: Connection, text: string): Promise<void> {
  const answer = await connection.request(text)
  if (answer.status !== 200) throw new Error(`an update was answered ${answer.status}`)
}

function outcome(
  streams: Streams,
  updates: number,
  lastSentMs: number,
): Pick<FanOutResult, 'notifications' | 'delivered' | 'final'> {
  const heardLast = streams.lastAtMs.reduce((sum, at) => sum + (at >= lastSentMs ? 1 : 0), 0)
  const counted = streams.counts.reduce((sum, count) => sum + Math.min(count, updates), 0)
  return {
    notifications: streams.total,
    delivered: counted / (updates * streams.size),
    final: heardLast / streams.size,
  }
}
