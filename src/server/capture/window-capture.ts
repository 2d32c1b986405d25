import type { CaptureMode } from './options.ts'
import { type Clock, monotonicClock, systemTimer, type Timer } from '../../lib/util/time.ts'
import { encodeBase64 } from '../resources/base64.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { fail, type Result } from '../../lib/util/result.ts'
import type { CaptureSource, CaptureView, SharedPicture } from '../resources/capture-source.ts'
import type {
  BackendName,
  CaptureBackend,
  CaptureFailure,
  CaptureTarget,
  Unavailable,
} from './backend.ts'
import type { PictureShot } from '../../lib/host-link/wire.ts'
import { noShots, noView } from './host-backend.ts'
import type { CaptureLimits } from './limits.ts'
import { isDoubtful, outsideTrouble, planCapture } from './plan.ts'
import { Probes } from './probes.ts'
import { type PictureWish, SharedPictures } from './shared-pictures.ts'
import { takePicture } from './take-picture.ts'

/** Bytes of a picture, 4.9 MB as base64: clients take blobs of about 5 MB. */
export const maxCaptureBytes = 3584 * 1024

interface WindowCaptureParts {
  readonly mode: CaptureMode
  /** At most one of each name. */
  readonly backends: readonly CaptureBackend[]
  readonly limits: CaptureLimits
  readonly log: Logger
  /** For durations: never set back. */
  readonly ticks?: Clock
  readonly timer?: Timer
  /** Told of every picture that was taken. */
  readonly onTaken?: (view: CaptureView) => void
}

/** `blob` is made once for all readers. */
interface TakenPicture extends SharedPicture {
  readonly png: Buffer
}

/** The backends that can be tried, best first; or why there are none. */
type CaptureState = Result<readonly BackendName[], Unavailable>

/** The target of backends that need no window of another program. */
const nowhere: CaptureTarget = Object.freeze({ pid: null, title: null })

/**
 * The window of the linked application as a source of pictures: knows without asking whether one
 * can be had, asks the backends beside everything else, and shares one picture among all readers.
 */
export class WindowCapture implements CaptureSource {
  readonly #parts: WindowCaptureParts
  readonly #timer: Timer
  readonly #probes: Probes
  readonly #pictures: Readonly<Record<CaptureView, SharedPictures<TakenPicture>>>
  readonly #hanging = new Set<CaptureBackend>()
  readonly #listeners = new Set<() => void>()
  readonly #firstLook = Promise.withResolvers<void>()
  #target: Result<CaptureTarget, Unavailable>
  #state: CaptureState
  #hasViewport = false
  #closed = false

  /** Nothing is asked before `aim`. */
  constructor(parts: WindowCaptureParts, waitsFor: Unavailable) {
    const { backends, limits, log, ticks = monotonicClock, timer = systemTimer } = parts
    this.#parts = parts
    this.#timer = timer
    this.#target = fail(waitsFor)
    this.#probes = new Probes({
      backends,

      ticks,
      timer,
      log,
      changed: () => this.#update(),
      done: () => this.#firstLook.resolve(),
    })
    const shared = (view: CaptureView) => {
      const take = (wish: PictureWish, signal: AbortSignal) => this.#take(view, wish, signal)
      return new SharedPictures({ take, limits, ticks, timer })
    }
    this.#pictures = { window: shared('window'), viewport: shared('viewport') }
    this.#state = this.#plan()
  }

  get state(): CaptureState {
    return this.#state
  }

  get unavailable(): Unavailable | null {
    return this.#state.ok ? null : this.#state.failure
  }

  get outside(): Unavailable | null {
    return outsideTrouble(this.#parts.mode, this.#probes.results)
  }

  /** Resolves when every backend has said once whether it works. */
  get tried(): Promise<void> {
    return this.#firstLook.promise
  }

  /** Readers that wait for a picture now. */
  get waiting(): number {
    return this.#pictures.window.waiting + this.#pictures.viewport.waiting
  }

  /** Sets whose window is captured, or why none is. Probes all backends again. */
  aim(target: Result<CaptureTarget, Unavailable>): void {
    if (this.#closed) return
    if (!isSame(target, this.#target)) this.#drop()
    this.#target = target
    this.#update()
    this.#probes.aim(target.ok ? target.value : null)
  }

  get hasViewport(): boolean {
    return this.#hasViewport
  }

  async read(
    maxWidth: number,
    signal?: AbortSignal,
    view: CaptureView = 'window',
    shot?: PictureShot,
  ): Promise<SharedPicture> {
    return this.#pictures[view].read({ maxWidth, shot }, signal)
  }

  /** A picture of the scene from there. Rejects as `read` does. */
  async shot(shot: PictureShot, maxWidth: number): Promise<TakenPicture> {
    if (!this.#target.ok) throw new ServiceError('resource_failed', this.#target.failure.message)
    // Asked of the application itself: the probes may not have told yet.
    const { backends } = this.#parts
    if (!offersShots(backends)) {
      throw readFailure(viewportBackends(backends).length === 0 ? noView : noShots)
    }
    return this.#pictures.viewport.read({ maxWidth, shot })
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Pictures under way are given up; nothing is asked any more, and the backends are closed. */
  async close(): Promise<void> {
    this.#closed = true
    this.#probes.close()
    this.#drop()
    this.#firstLook.resolve()
    await Promise.all(this.#parts.backends.map(async backend => backend.close?.()))
  }

  #drop(): void {
    for (const pictures of Object.values(this.#pictures)) pictures.drop()
  }

  #backendsFor(view: CaptureView): readonly CaptureBackend[] {
    const { backends } = this.#parts
    if (view === 'viewport') return viewportBackends(backends)
    const names = this.#state.ok ? this.#state.value : []
    return names.flatMap(name => backends.find(backend => backend.name === name) ?? [])
  }

  async #take(view: CaptureView, wish: PictureWish, signal: AbortSignal): Promise<TakenPicture> {
    const { limits, log } = this.#parts
    const taken = await takePicture(
      {
        backends: this.#backendsFor(view),
        target: this.#target.ok ? this.#target.value : nowhere,
        limits,
        timer: this.#timer,
        log,
        hanging: this.#hanging,
      },
      { ...wish, maxBytes: maxCaptureBytes, signal },
    )
    if (!taken.ok) {
      if (!signal.aborted && isDoubtful(taken.failure.reason)) this.#probes.doubt()
      throw readFailure(taken.failure)
    }
    this.#parts.onTaken?.(view)
    const { png, view: drawn } = taken.value
    return { png, blob: { base64: encodeBase64(png) }, ...(drawn && { view: drawn }) }
  }

  #plan(): CaptureState {
    const target = this.#target
    return planCapture({ mode: this.#parts.mode, target, probes: this.#probes.results })
  }

  #update(): void {
    const before = this.#state
    this.#state = this.#plan()
    const hadViewport = this.#hasViewport
    const { backends } = this.#parts
    this.#hasViewport = backends.some(({ viewport }) => viewport?.offered() === true)
    if (before.ok !== this.#state.ok) this.#logState()
    else if (hadViewport === this.#hasViewport) return
    for (const listener of this.#listeners) listener()
  }

  #logState(): void {
    const { log } = this.#parts
    if (this.#state.ok) {
      log.info({ backends: this.#state.value }, 'the window of the application can be captured')
    } else {
      const { reason, message, hint } = this.#state.failure
      log.info({ reason, why: message, hint }, 'the window can not be captured any more')
    }
  }
}

function isSame(
  left: Result<CaptureTarget, Unavailable>,
  right: Result<CaptureTarget, Unavailable>,
): boolean {
  if (!left.ok || !right.ok) return left.ok === right.ok
  return left.value.pid === right.value.pid && left.value.title === right.value.title
}

function readFailure({ reason, message }: CaptureFailure): ServiceError {
  return new ServiceError('resource_failed', message, {
    hint: failureHints[reason],
    data: { reason },
  })
}

function offersShots(backends: readonly CaptureBackend[]): boolean {
  return backends.some(({ viewport }) => viewport?.offersShots() === true)
}

/** Those that can draw the view of the scene alone, made to do that. Each stays one at a time. */
function viewportBackends(backends: readonly CaptureBackend[]): readonly CaptureBackend[] {
  return backends.flatMap(backend => {
    const { name, viewport } = backend
    if (viewport?.offered() !== true) return []
    return {
      name,
      probe: target => backend.probe(target),
      capture: (_target, form) => viewport.capture(form),
    }
  })
}

/** What the reader can do about it, or tell the user. */
const failureHints: Readonly<Record<CaptureFailure['reason'], string>> = {
  minimised: 'ask the person to restore the window, then read again',
  no_window: 'see that the application shows a window on this desktop',
  no_display: 'start the server in the desktop session of the application',
  permission: 'allow the program that started the server to record the screen',
  timeout: 'read again; see whether the application hangs',
  blank: 'read again in a moment; a window that is just being drawn is empty',
  covered: 'ask the person to bring the window to the front, or to run a compositor',
  host_busy: 'read again when the application is done with what keeps it',
  host_disconnected: 'open the application and press Connect',
  not_found: 'read scene://current for the names that there are',
  failed: 'read again; the server says more with --log-level debug',
}
