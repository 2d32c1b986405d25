import type { Logger } from '../../lib/util/logger.ts'
import { type Result, fail } from '../../lib/util/result.ts'
import { type Timer, within } from '../../lib/util/time.ts'
import type {
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  CaptureTarget,
} from './backend.ts'
import type { CaptureLimits } from './limits.ts'
import { nextBackends, tellingFailure } from './plan.ts'
import { startsAsPng } from './png/pixels.ts'

interface TakeParts {
  /** Those that said they can, best first. */
  readonly backends: readonly CaptureBackend[]
  readonly target: CaptureTarget
  readonly limits: Pick<CaptureLimits, 'captureMs'>
  readonly timer: Timer
  readonly log: Logger
  /** Backends that are still at work after their deadline: asked again, they would pile up. */
  readonly hanging: Set<CaptureBackend>
}

type Taken = Result<Capture, CaptureFailure>

/**
 * One picture: by the first backend that can give it, each under its own deadline. Never rejects.
 * Aborted, it ends when the backend at work does: so that what is at work at once stays bounded.
 */
export async function takePicture(parts: TakeParts, form: CaptureForm): Promise<Taken> {
  const { log } = parts
  const failures: CaptureFailure[] = []
  let remaining = parts.backends
  while (!form.signal.aborted) {
    const [backend, ...others] = remaining
    if (backend === undefined) break
    const taken = await attempt(backend, parts, form)
    if (taken.ok) {
      const { width, height, png } = taken.value
      log.debug({ backend: backend.name, width, height, bytes: png.length }, 'window captured')
      return taken
    }
    const { reason, message } = taken.failure
    log.debug({ backend: backend.name, reason, message }, 'no picture of the window')
    failures.push(taken.failure)
    const next = nextBackends(
      reason,
      others.map(({ name }) => name),
    )
    remaining = others.filter(({ name }) => next.includes(name))
  }
  return fail(tellingFailure(failures))
}

async function attempt(
  backend: CaptureBackend,
  { target, limits, timer, log, hanging }: TakeParts,
  form: CaptureForm,
): Promise<Taken> {
  if (hanging.has(backend)) return fail(timeout('an earlier picture of the window still hangs'))
  const late = new AbortController()
  const signal = AbortSignal.any([form.signal, late.signal])
  try {
    const taking = backend.capture(target, { ...form, signal })
    const taken = await within(taking, limits.captureMs, timer, () => {
      hanging.add(backend)
      const free = () => hanging.delete(backend)
      taking.then(free, free)
      late.abort()
      const message = `the window could not be captured within ${limits.captureMs} ms`
      return fail(timeout(message))
    })
    return taken.ok ? checked(taken.value, form, backend, log) : taken
  } catch (error) {
    // It should not throw: a fault in one way to a picture must not cost the others.
    log.error({ err: error, backend: backend.name }, 'a capture backend failed')
    return fail({ reason: 'failed', message: 'the window could not be captured' })
  }
}

function timeout(message: string): CaptureFailure {
  return { reason: 'timeout', message }
}

/** What a backend promises of its pictures, kept by all of them. */
function checked(
  capture: Capture,
  { maxWidth, maxBytes }: CaptureForm,
  { name }: CaptureBackend,
  log: Logger,
): Taken {
  const { png, width, height } = capture
  const isPng = startsAsPng(png)
  if (isPng && png.length <= maxBytes && width >= 1 && width <= maxWidth && height >= 1) {
    return { ok: true, value: capture }
  }
  log.error({ backend: name, isPng, bytes: png.length, width, height }, 'no picture as asked for')
  return fail({ reason: 'failed', message: 'the picture of the window is not as it should be' })
}
