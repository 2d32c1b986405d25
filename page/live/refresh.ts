import { type ReadonlySignal, signal } from '@preact/signals'
import { Throttle } from '../../src/lib/mcp/throttle.ts'
import type { Timer } from '../../src/lib/util/time.ts'
import type { Carrier } from '../mcp/carrier.ts'

export const timer: Timer = {
  after(delayMs, run) {
    const handle = window.setTimeout(run, delayMs)
    return () => window.clearTimeout(handle)
  },
}

const retryMs = 3000

/**
 * A function that runs `work` soon: one run at a time, at most one an interval, and one after the
 * last call; again some seconds after it failed.
 */
export function refresher(minIntervalMs: number, work: () => Promise<void>): () => void {
  const run = () => work().catch(() => void setTimeout(trigger, retryMs))
  const throttle = new Throttle({ timer, minIntervalMs, run })
  const trigger = () => throttle.trigger()
  return trigger
}

/** What `read` gives, again after each change of the resource; null until it is known. */
export function followed<Value>(
  carrier: Carrier,
  uri: string,
  read: () => Promise<Value>,
): ReadonlySignal<Value | null> {
  const value = signal<Value | null>(null)
  const refresh = refresher(500, async () => {
    value.value = await read()
  })
  carrier.follow(uri, refresh)
  return value
}
