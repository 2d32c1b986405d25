import { isDeepStrictEqual } from 'node:util'
import pLimit from 'p-limit'
import type { PictureShot } from '../../lib/host-link/wire.ts'
import { onAbort } from '../../lib/util/abort.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { fail, type Result } from '../../lib/util/result.ts'
import { systemTimer } from '../../lib/util/time.ts'
import { encodeBase64 } from '../resources/base64.ts'
import type { CaptureSource, CaptureView, SharedPicture } from '../resources/capture.ts'
import type {
  BackendName,
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  CaptureTarget,
  Unavailable,
} from './backend.ts'
import { deniedPictures, noApplication } from './target.ts'

/** Bytes of a picture, 4.9 MB as base64: clients take blobs of about 5 MB. */
const maxCaptureBytes = 3584 * 1024

/** Pictures that wait for their turn; further reads fail at once. */
const maxWaiting = 64

/** Agents that look from many places must not take all of the application's time. */
const restMs = 250

/** Readers with the same wish share a picture. */
interface PictureRequest {
  readonly view: CaptureView
  readonly maxWidth: number
  readonly shot?: PictureShot
}

/** `blob` is made once for all readers. */
type TakenPicture = SharedPicture & { readonly png: Buffer }

/** A picture that is being taken, and how many wait for it. */
interface Flight {
  readonly picture: Promise<TakenPicture>
  readonly stop: AbortController
  readers: number
}

interface WindowCaptureParts {
  /** At most one of each name, best first. */
  readonly backends: readonly CaptureBackend[]
  /** A backend must give a picture within this time; then the next one is tried. */
  readonly captureMs: number
  readonly log: Logger
  /** Told whenever a client got a picture. */
  readonly onTaken?: (view: CaptureView) => void
}

const notProbed: Unavailable = {
  reason: 'not_tried',
  message: 'the window of the application is being looked for',
  hint: 'read again in a moment',
}

const broken: Unavailable = {
  reason: 'failed',
  message: 'window capture failed',
  hint: 'the log of the server says more',
}

/**
 * The window of the linked application as a source of pictures. It knows without asking whether
 * one can be had, and takes one at a time, which all its readers share.
 */
export class WindowCapture implements CaptureSource {
  readonly #parts: WindowCaptureParts
  readonly #found = new Map<BackendName, Result<null, Unavailable>>()
  readonly #flights = new Map<string, Flight>()
  readonly #queue = pLimit(1)
  readonly #listeners = new Set<() => void>()
  #target: Result<CaptureTarget, Unavailable>
  #probing: Promise<void> | null = null
  #isOutdated = false
  #unavailable: Unavailable | null
  #hasViewport = false

  /** Nothing is looked for before `setTarget`. */
  constructor(parts: WindowCaptureParts, waitsFor: Unavailable) {
    this.#parts = parts
    this.#target = fail(waitsFor)
    this.#unavailable = waitsFor
  }

  get unavailable(): Unavailable | null {
    return this.#unavailable
  }

  get hasViewport(): boolean {
    return this.#hasViewport
  }

  /** Sets whose window is captured, or why none is, and looks for it. */
  setTarget(target: Result<CaptureTarget, Unavailable>): void {
    if (!isDeepStrictEqual(target, this.#target)) {
      this.#drop()
      this.#found.clear()
    }
    this.#target = target
    this.#update()
    void this.probe()
  }

  probe(): Promise<void> {
    this.#isOutdated = true
    this.#probing ??= this.#probeAll().finally(() => (this.#probing = null))
    return this.#probing
  }

  async read(
    maxWidth: number,
    signal?: AbortSignal,
    view: CaptureView = 'window',
    shot?: PictureShot,
  ): Promise<SharedPicture> {
    const picture = await this.#join({ view, maxWidth, shot }, signal)
    this.#parts.onTaken?.(view)
    return picture
  }

  /** A picture of the scene from there, for a note. Rejects as `read` does. */
  async shot(shot: PictureShot, maxWidth: number): Promise<TakenPicture> {
    const failure = this.#target.ok ? null : this.#target.failure
    // An application draws its scene also where its window is not known.
    if (failure === noApplication || failure === deniedPictures) {
      throw new ServiceError('resource_failed', failure.message)
    }
    return this.#join({ view: 'viewport', maxWidth, shot })
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Gives up the pictures that are being taken. */
  close(): void {
    this.#listeners.clear()
    this.#drop()
  }

  /** Once more when the application changed meanwhile. */
  async #probeAll(): Promise<void> {
    while (this.#isOutdated) {
      this.#isOutdated = false
      const target = this.#target
      await Promise.all(
        this.#parts.backends.map(async backend => {
          if (!target.ok && backend.name !== 'host') return
          const pending = backend.probe(target.ok ? target.value : noTarget)
          const found = await pending.catch((error: unknown) => {
            this.#parts.log.error({ err: error }, 'a window cannot be looked for')
            return fail(broken)
          })
          if (target !== this.#target) return
          this.#found.set(backend.name, found)
          this.#update()
        }),
      )
    }
  }

  /** Those that can be tried, best first. An application needs no window to draw itself. */
  #usable(): readonly CaptureBackend[] {
    return this.#parts.backends.filter(
      ({ name }) => (this.#target.ok || name === 'host') && this.#found.get(name)?.ok === true,
    )
  }

  #reason(): Unavailable | null {
    if (this.#usable().length > 0) return null
    // That the application does not draw itself says less than why it is not seen from outside.
    const last = this.#parts.backends.at(-1)
    if (!this.#target.ok && last?.name !== 'host') return this.#target.failure
    const found = last && this.#found.get(last.name)
    return found?.ok === false ? found.failure : notProbed
  }

  #update(): void {
    const [before, hadViewport] = [this.#unavailable, this.#hasViewport]
    this.#unavailable = this.#reason()
    this.#hasViewport = this.#parts.backends.some(({ viewport }) => viewport?.offered())
    const isCaptured = this.#unavailable === null
    if (isCaptured !== (before === null)) {
      const text = isCaptured ? 'can be captured' : 'cannot be captured any more'
      this.#parts.log.info({ why: this.#unavailable?.message }, `the window ${text}`)
    } else if (hadViewport === this.#hasViewport) return
    for (const listener of this.#listeners) listener()
  }

  async #join(request: PictureRequest, signal?: AbortSignal): Promise<TakenPicture> {
    const key = JSON.stringify(request)
    const flight = this.#flights.get(key) ?? this.#start(request, key)
    flight.readers++
    const cancel = onAbort(signal, () => {
      if (--flight.readers > 0) return
      this.#forget(key, flight)
      flight.stop.abort()
    })
    try {
      return await flight.picture
    } finally {
      cancel()
    }
  }

  #start(request: PictureRequest, key: string): Flight {
    if (this.#queue.pendingCount >= maxWaiting) {
      const message = 'too many readers wait for a picture of the window'
      const data = { reason: 'busy' }
      throw new ServiceError('resource_failed', message, { hint: 'read again in a moment', data })
    }
    const stop = new AbortController()
    const picture = this.#queue(() => this.#take(request, stop.signal))
    if (request.shot !== undefined) {
      void this.#queue(() => new Promise<void>(resolve => void systemTimer.after(restMs, resolve)))
    }
    const flight: Flight = { picture, stop, readers: 0 }
    this.#flights.set(key, flight)
    const forget = () => this.#forget(key, flight)
    picture.then(forget, forget)
    return flight
  }

  #forget(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key)
  }

  /** The pictures that are being taken are of an application that is another one now. */
  #drop(): void {
    for (const { stop } of this.#flights.values()) stop.abort()
    this.#flights.clear()
  }

  async #take({ view, ...asked }: PictureRequest, signal: AbortSignal): Promise<TakenPicture> {
    const { log, backends } = this.#parts
    const target = this.#target.ok ? this.#target.value : noTarget
    const ways =
      view === 'window'
        ? this.#usable().map(way => (form: CaptureForm) => way.capture(target, form))
        : backends.flatMap(({ viewport }) => (viewport?.offered() ? viewport.capture : []))
    let failure: CaptureFailure | null = null
    for (const capture of ways) {
      if (signal.aborted) break
      const taken = await this.#attempt(capture, { ...asked, maxBytes: maxCaptureBytes, signal })
      if (taken.ok) {
        const { png, view: drawn } = taken.value
        return { png, blob: { base64: encodeBase64(png) }, ...(drawn && { view: drawn }) }
      }
      log.debug(taken.failure, 'no picture of the window')
      failure ??= taken.failure
    }
    if (signal.aborted) throw readFailure(applicationLeft)
    if (view === 'window') void this.probe()
    throw readFailure(failure ?? (view === 'window' ? applicationLeft : noView))
  }

  /** Ends by its deadline, and when no reader waits any more. */
  async #attempt(
    capture: (form: CaptureForm) => Promise<Result<Capture, CaptureFailure>>,
    form: CaptureForm,
  ): Promise<Result<Capture, CaptureFailure>> {
    const { captureMs } = this.#parts
    const signal = AbortSignal.any([form.signal, AbortSignal.timeout(captureMs)])
    const ended = Promise.withResolvers<Result<Capture, CaptureFailure>>()
    const message = `the window could not be captured within ${captureMs} ms`
    const cancel = onAbort(signal, () => ended.resolve(fail({ reason: 'timeout', message })))
    try {
      return await Promise.race([capture({ ...form, signal }), ended.promise])
    } finally {
      cancel()
    }
  }
}

/** The target of an application that draws itself. */
const noTarget: CaptureTarget = { pid: null, title: null }

const noView: CaptureFailure = {
  reason: 'failed',
  message: 'the application draws no picture of its scene',
}

const applicationLeft: CaptureFailure = {
  reason: 'no_window',
  message: 'the application left or changed before its picture was taken',
}

function readFailure({ reason, message }: CaptureFailure): ServiceError {
  return new ServiceError('resource_failed', message, {
    hint: failureHints[reason],
    data: { reason },
  })
}

/** What the reader can do about it, or tell the user. */
const failureHints: Readonly<Record<CaptureFailure['reason'], string>> = {
  minimised: 'ask the person to restore the window, then read again',
  no_window: 'see that the application shows a window on this desktop',
  no_display: 'start the server in the desktop session of the application',
  permission: 'ask the person to allow pictures in the application',
  timeout: 'read again; see whether the application hangs',
  blank: 'read again in a moment; a window that is just being drawn is empty',
  host_busy: 'read again when the application is done with what keeps it',
  host_disconnected: 'open the application and press Connect',
  not_found: 'read scene://current for the names that there are',
  failed: 'read again; the server says more with --log-level debug',
}
