import { ServiceError } from '../../lib/util/errors.ts'
import { Slots } from './concurrency.ts'
import type { ArtefactStore } from './store.ts'

/**
 * Bodies that are sent to clients at once. Each holds a descriptor and, with its pieces on their
 * way, up to 2.6 MB: clients which do not read cost some 330 MB at most.
 */
const maxSending = 128
/**
 * While other clients wait, a reader is cut that takes less than one piece (384 KiB) in this time:
 * even a slow line of 1 Mbit/s takes that much.
 */
const slowReaderMs = 5000
/** Longer than `slowReaderMs`, so that a client waits for slow readers to be cut. */
const maxWaitMs = 10_000
const checkEveryMs = 250

interface Sending {
  progressMs: number
  /** Ends the client's connection. */
  readonly cut: () => void
}

/** `open` for bodies on their way to clients: see `ArtefactStore.openToSend`. */
export function createOpenToSend(
  open: ArtefactStore['open'],
  times: { slowReaderMs: number; maxWaitMs: number } = { slowReaderMs, maxWaitMs },
): ArtefactStore['openToSend'] {
  const slots = new Slots(maxSending)
  const sendings = new Set<Sending>()

  async function acquire(): Promise<void> {
    if (slots.tryAcquire()) return
    const timer = setInterval(cutSlowest, checkEveryMs)
    cutSlowest()
    const isAcquired = await slots.acquireWithin(times.maxWaitMs)
    clearInterval(timer)
    if (isAcquired) return
    const message = 'the server is sending too many artefacts; try again in a second'
    throw new ServiceError('overloaded', message)
  }

  function cutSlowest(): void {
    const slowest = [...sendings].toSorted((a, b) => a.progressMs - b.progressMs)[0]
    if (slowest === undefined || performance.now() - slowest.progressMs < times.slowReaderMs) return
    sendings.delete(slowest)
    slowest.cut()
  }

  return async (hex, cut) => {
    await acquire()
    const artefact = await open(hex).catch(error => {
      slots.release()
      throw error
    })
    if (artefact === null) {
      slots.release()
      return null
    }
    const sending = { progressMs: performance.now(), cut }
    sendings.add(sending)
    const progress = () => {
      sending.progressMs = performance.now()
    }
    async function* noting(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const piece of pieces) {
        yield piece
        progress()
      }
    }
    let closing: Promise<void> | undefined
    return {
      ...artefact,
      fill(target, position) {
        progress()
        return artefact.fill(target, position)
      },
      range: (start, end) => noting(artefact.range(start, end)),
      verified: () => noting(artefact.verified()),
      close: () =>
        (closing ??= artefact.close().finally(() => {
          sendings.delete(sending)
          slots.release()
        })),
    }
  }
}
