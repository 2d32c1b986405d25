import { retryDelay } from '../../src/lib/util/time.ts'
import { McpError } from './carrier.ts'
import type { McpClient } from './mcp-client.ts'
import { serverNow } from './server-clock.ts'

/** Two keep-alives of the server, and some more. */
const silenceMs = 70_000

export type StreamEvent =
  | { readonly kind: 'open' }
  | { readonly kind: 'updated'; readonly uri: string }
  | { readonly kind: 'listChanged' }
  | { readonly kind: 'lost'; readonly sinceMs: number; readonly reason: string }
  | { readonly kind: 'login'; readonly reason: string }
  /** The tab is hidden. */
  | { readonly kind: 'paused' }

interface StreamParts {
  readonly client: Pick<McpClient, 'listen'>
  /** What to follow: a server that was started again may serve other resources. */
  readonly wanted: () => Promise<readonly string[]>
  readonly told: (event: StreamEvent) => void
  /** Resolves when a login may have changed the refusal. */
  readonly loginChanged: (signal: AbortSignal) => Promise<void>
}

/** Keeps one `subscriptions/listen` open until aborted: after each loss it tries again. */
export async function keepListening(parts: StreamParts, signal: AbortSignal): Promise<void> {
  let attempt = 0
  let lostMs: number | null = null
  while (!signal.aborted) {
    const wasOpen = { yes: false }
    const reason = await listenOnce(parts, signal, wasOpen)
    if (signal.aborted) return
    if (wasOpen.yes) [attempt, lostMs] = [0, null]
    if (reason instanceof McpError && reason.status === 401) {
      parts.told({ kind: 'login', reason: reason.message })
      await parts.loginChanged(signal)
      continue
    }
    lostMs ??= serverNow()
    parts.told({ kind: 'lost', sinceMs: lostMs, reason: reason.message })
    await soon(retryDelay(attempt++, Math.random), signal)
  }
}

/** Resolves with the reason why the stream has ended. */
async function listenOnce(
  { client, wanted, told }: StreamParts,
  signal: AbortSignal,
  wasOpen: { yes: boolean },
): Promise<Error> {
  const silent = new AbortController()
  let timer = 0
  const heardNow = () => {
    clearTimeout(timer)
    timer = window.setTimeout(() => silent.abort(), silenceMs)
  }
  heardNow()
  try {
    await client.listen(
      await wanted(),
      message => {
        heardNow()
        switch (message?.method) {
          case 'notifications/subscriptions/acknowledged':
            wasOpen.yes = true
            return told({ kind: 'open' })
          case 'notifications/resources/updated':
            return told({ kind: 'updated', uri: String(message.params?.uri) })
          case 'notifications/resources/list_changed':
            return told({ kind: 'listChanged' })
        }
      },
      AbortSignal.any([signal, silent.signal]),
    )
    return new Error('the server has stopped')
  } catch (error) {
    if (silent.signal.aborted) return new Error('the server is silent')
    return error instanceof McpError ? error : new Error('the server cannot be reached')
  } finally {
    clearTimeout(timer)
  }
}

/** Waits, and ends early when the network or the reader comes back. */
function soon(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(done, delayMs)
    function done(): void {
      clearTimeout(timer)
      window.removeEventListener('online', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    window.addEventListener('online', done)
    signal.addEventListener('abort', done)
  })
}
