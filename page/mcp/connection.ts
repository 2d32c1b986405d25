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
  follow: (stopped: AbortSignal) => Promise<never>,
): void {
  const keepFollowing = async (stopped: AbortSignal) => {
    let [attempt, lostMs]: [number, number | null] = [0, null]
    while (!stopped.aborted) {
      const error = await follow(stopped).catch((reason: Error) => reason)
      if (stopped.aborted) return
      if (error instanceof McpError && error.status === 401) {
        // A login begins again.
        connection.value = { kind: 'login' }
        return
      }
      if (connection.peek().kind === 'live') [attempt, lostMs] = [0, null]
      lostMs ??= Date.now()
      connection.value = { kind: 'lost', sinceMs: lostMs, reason: error.message }
      await pause(timer, retryDelay(attempt++, Math.random), stopped)
    }
  }
  effect(() => {
    if (!isShown()) return
    const stopped = new AbortController()
    void keepFollowing(stopped.signal)
    return () => {
      stopped.abort()
      connection.value = { kind: 'connecting' }
    }
  })
}
