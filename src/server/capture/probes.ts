import { type Clock, type Timer, within } from '../../lib/util/time.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { fail } from '../../lib/util/result.ts'
import type { BackendName, CaptureBackend, CaptureTarget } from './backend.ts'
import type { Probed } from './plan.ts'

/** The capture methods are tried this often while an application is there. */
export const captureProbeIntervalMs = 30_000

/** More than the slowest backend gives itself. */
export const captureProbeMs = 6000

/** After failed captures the methods are tried again at most this often. */
export const captureDoubtMs = 1000

interface ProbesParts {
  readonly backends: readonly CaptureBackend[]
  /** For durations: never set back. */
  readonly ticks: Clock
  readonly timer: Timer
  readonly log: Logger
  /** One of the `results` is new. */
  readonly changed: () => void
  /** Called when every backend answered once. */
  readonly done: () => void
}

/** Backends that look from outside can tell by any process of this machine whether they work. */
const ownWindow: CaptureTarget = Object.freeze({ pid: process.pid, title: null })

/** What each backend said last of whether it works. Asked in rounds, beside everything else. */
export class Probes {
  readonly #parts: ProbesParts
  readonly #results = new Map<BackendName, Probed>()
  #target: CaptureTarget | null = null
  /** Those that did not answer in time and may still: asked again, they would pile up. */
  readonly #hanging = new Set<CaptureBackend>()
  #running = false
  #doubtedMs = Number.NEGATIVE_INFINITY
  #again = false
  #cancel = () => {}
  #closed = false

  constructor(parts: ProbesParts) {
    this.#parts = parts
  }

  get results(): ReadonlyMap<BackendName, Probed> {
    return this.#results
  }

  /** The window is another one, or gone (null): everything is asked anew. */
  aim(target: CaptureTarget | null): void {
    this.#target = target
    this.look()
  }

  /** Probes every backend; once more afterwards when a round is under way. */
  look(): void {
    if (this.#closed) return
    this.#again = true
    if (!this.#running) void this.#run()
  }

  /** A capture failed, and what they said may be outdated: asked again, if not just before. */
  doubt(): void {
    const { ticks } = this.#parts
    if (ticks.now() - this.#doubtedMs < captureDoubtMs) return
    this.#doubtedMs = ticks.now()
    this.look()
  }

  close(): void {
    this.#closed = true
    this.#cancel()
  }

  async #run(): Promise<void> {
    this.#running = true
    this.#cancel()
    while (this.#again && !this.#closed) {
      this.#again = false
      await this.#round(this.#target ?? ownWindow)
    }
    this.#running = false
    if (this.#closed || this.#target === null) return
    const { timer } = this.#parts
    this.#cancel = timer.after(captureProbeIntervalMs, () => this.look())
  }

  async #round(target: CaptureTarget): Promise<void> {
    const { backends, changed, done } = this.#parts
    await Promise.all(
      backends.map(async backend => {
        const probed = await this.#probe(backend, target)
        if (this.#closed) return
        // A slow one does not keep the others from being used.
        this.#results.set(backend.name, probed)
        changed()
      }),
    )
    if (!this.#closed) done()
  }

  async #probe(backend: CaptureBackend, target: CaptureTarget): Promise<Probed> {
    const { timer, log } = this.#parts
    const { name } = backend
    if (this.#hanging.has(backend)) return silent(name)
    try {
      const probing = backend.probe(target)
      return await within(probing, captureProbeMs, timer, () => {
        this.#hanging.add(backend)
        const free = () => this.#hanging.delete(backend)
        probing.then(free, free)
        return silent(name)
      })
    } catch (error) {
      // It should not throw: a fault in one way to a picture must not cost the others.
      log.error({ err: error, backend: name }, 'a capture backend failed its probe')
      return fail({ reason: 'failed', message: `${name} capture is broken`, hint })
    }
  }
}

const hint = 'the log of the server says more'

function silent(name: BackendName): Probed {
  return fail({ reason: 'timeout', message: `${name} capture does not answer`, hint })
}
