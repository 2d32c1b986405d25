import type { StreamEvent } from './stream.ts'

const name = 'service-page'

interface SharedParts {
  /** Listens until aborted. Only one tab of a browser runs it at a time. */
  readonly listen: (told: (event: StreamEvent) => void, signal: AbortSignal) => Promise<void>
  readonly told: (event: StreamEvent) => void
}

/**
 * One event stream for all tabs of a browser: it has six connections to a server, and a stream
 * takes one. The visible tab that holds the lock listens and passes on what it hears. Hidden tabs
 * neither listen nor wait; they start again when they are shown.
 *
 * Without locks (plain http on another name) each visible tab listens for itself.
 */
export function shareStream({ listen, told }: SharedParts): void {
  const locks: LockManager | undefined = navigator.locks
  const channel = locks === undefined ? null : new BroadcastChannel(name)
  let [last, isListening]: [StreamEvent | null, boolean] = [null, false]

  channel?.addEventListener('message', ({ data }: MessageEvent<StreamEvent | 'state'>) => {
    if (document.hidden && data !== 'state') return
    if (data !== 'state') return told(data)
    // A tab that was just shown asks how things are.
    if (isListening && last !== null) channel.postMessage(last)
  })

  const start = async (signal: AbortSignal): Promise<void> => {
    isListening = true
    await listen(event => {
      if (event.kind !== 'updated' && event.kind !== 'listChanged') last = event
      told(event)
      channel?.postMessage(event)
    }, signal)
    isListening = false
  }

  let shown: AbortController | null = null
  const look = (): void => {
    if (document.hidden) {
      shown?.abort()
      shown = null
      told({ kind: 'paused' })
    } else if (shown === null) {
      shown = new AbortController()
      const { signal } = shown
      channel?.postMessage('state')
      if (locks === undefined) void start(signal)
      else {
        const held = locks.request(name, { signal }, () => start(signal))
        // Refused where the browser keeps no data of this site.
        held.catch(() => (signal.aborted ? undefined : start(signal)))
      }
    }
  }
  document.addEventListener('visibilitychange', look)
  look()
}
