import { effect, type Signal } from '@preact/signals'
import { pause, retryDelay } from '../../src/lib/util/time.ts'
import { timer } from '../live/refresh.ts'
import { type Connection, McpError } from './carrier.ts'

/**
 * Follows while the view is shown. `follow` rejects when the connection is lost, and is called again,
 * each time later until it has set the connection to live.
 */
export function stayConnected(
  connection: Signal<Connection>,
  isShown: () => boolean,
  follow: (over: AbortSignal) => Promise<never>,
): void {
  const keepFollowing = async (over: AbortSignal) => {
    let [attempt, lostMs]: [number, number | null] = [0, null]
    while (!over.aborted) {
      const error = await follow(over).catch((reason: Error) => reason)
      if (over.aborted) return
      if (error instanceof McpError && error.status === 401) {
        // A login begins again.
        connection.value = { kind: 'login' }
        return
      }
      if (connection.peek().kind === 'live') [attempt, lostMs] = [0, null]
      lostMs ??= Date.now()
      connection.value = { kind: 'lost', sinceMs: lostMs, reason: error.message }
      await pause(timer, retryDelay(attempt++, Math.random), over)
    }
  }
  effect(() => {
    if (!isShown()) return
    const over = new AbortController()
    void keepFollowing(over.signal)
    return () => {
      over.abort()
      connection.value = { kind: 'connecting' }
    }
  })
}
