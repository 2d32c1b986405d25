import type { PictureShot } from '../../lib/host-link/wire.ts'
import { onAbort } from '../../lib/util/abort.ts'
import type { Clock, Timer } from '../../lib/util/time.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { CaptureLimits } from './limits.ts'

interface SharedPicturesParts<Picture> {
  /** Takes one; its rejection reaches every reader of it. Ends soon after the signal. */
  readonly take: (wish: PictureWish, signal: AbortSignal) => Promise<Picture>
  readonly limits: Pick<CaptureLimits, 'captureReuseMs' | 'maxCapturesAtOnce' | 'maxCaptureReaders'>
  /** For durations: never set back. */
  readonly ticks: Clock
  readonly timer: Timer
}

interface Flight<Picture> {
  readonly wish: PictureWish
  readonly key: string
  readonly outcome: PromiseWithResolvers<Picture>
  readonly stop: AbortController
  /** Readers that wait, whether or not they can tell when they leave. */
  waiting: number
  finishedMs: number | null
}

/** Readers with the same wish share a picture. */
export interface PictureWish {
  readonly maxWidth: number
  readonly shot?: PictureShot
}

/**
 * One picture for all who ask for the same meanwhile, and shortly after. Given up when the
 * last of its readers has left.
 */
export class SharedPictures<Picture> {
  readonly #parts: SharedPicturesParts<Picture>
  readonly #flights = new Map<string, Flight<Picture>>()
  readonly #queue: Flight<Picture>[] = []
  #running = 0
  #waiting = 0

  constructor(parts: SharedPicturesParts<Picture>) {
    this.#parts = parts
  }

  /** Readers that wait now. */
  get waiting(): number {
    return this.#waiting
  }

  /** `signal`: of the reader. */
  read(wish: PictureWish, signal?: AbortSignal): Promise<Picture> {
    const key = JSON.stringify([wish.maxWidth, wish.shot])
    const known = this.#flights.get(key)
    const { limits, ticks } = this.#parts
    if (known !== undefined && known.finishedMs !== null) {
      if (ticks.now() - known.finishedMs <= limits.captureReuseMs) return known.outcome.promise
      this.#flights.delete(key)
    }
    if (this.#waiting >= limits.maxCaptureReaders) return Promise.reject(tooMany())
    return this.#join(this.#flights.get(key) ?? this.#open(wish, key), signal)
  }

  /** Pictures under way and kept ones belong to a window that is another one now. */
  drop(): void {
    const flights = [...this.#flights.values()]
    this.#flights.clear()
    for (const flight of flights) this.#giveUp(flight)
  }

  #open(wish: PictureWish, key: string): Flight<Picture> {
    const outcome = Promise.withResolvers<Picture>()
    // Readers that left look at it no more.
    outcome.promise.catch(() => {})
    const stop = new AbortController()
    const flight: Flight<Picture> = { wish, key, outcome, stop, waiting: 0, finishedMs: null }
    this.#flights.set(key, flight)
    this.#queue.push(flight)
    this.#startNext()
    return flight
  }

  #join(flight: Flight<Picture>, signal: AbortSignal | undefined): Promise<Picture> {
    let here = true
    flight.waiting++
    this.#waiting++
    const leave = (): boolean => {
      if (!here) return false
      here = false
      flight.waiting--
      this.#waiting--
      return true
    }
    const callOff = onAbort(signal, () => {
      if (leave() && flight.waiting === 0) this.#giveUp(flight)
    })
    const settled = (): void => {
      callOff()
      leave()
    }
    flight.outcome.promise.then(settled, settled)
    return flight.outcome.promise
  }

  #giveUp(flight: Flight<Picture>): void {
    this.#forget(flight)
    const at = this.#queue.indexOf(flight)
    if (at !== -1) this.#queue.splice(at, 1)
    flight.stop.abort()
    flight.outcome.reject(windowLeft())
  }

  #startNext(): void {
    while (this.#running < this.#parts.limits.maxCapturesAtOnce) {
      const flight = this.#queue.shift()
      if (flight === undefined) return
      void this.#run(flight)
    }
  }

  async #run(flight: Flight<Picture>): Promise<void> {
    const { take, ticks, timer, limits } = this.#parts
    this.#running++
    try {
      const picture = await take(flight.wish, flight.stop.signal)
      flight.finishedMs = ticks.now()
      flight.outcome.resolve(picture)
      timer.after(limits.captureReuseMs, () => this.#forget(flight))
    } catch (error) {
      this.#forget(flight)
      flight.outcome.reject(error)
    } finally {
      this.#running--
      this.#startNext()
    }
  }

  #forget(flight: Flight<Picture>): void {
    if (this.#flights.get(flight.key) === flight) this.#flights.delete(flight.key)
  }
}

function tooMany(): ServiceError {
  return new ServiceError('resource_failed', 'too many readers wait for a picture of the window', {
    hint: 'read again in a moment',
    data: { reason: 'busy' },
  })
}

function windowLeft(): ServiceError {
  return new ServiceError('resource_failed', 'the application left while its window was captured', {
    hint: 'read again when it is linked',
    data: { reason: 'no_window' },
  })
}
