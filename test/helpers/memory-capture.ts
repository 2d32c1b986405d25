import { type Result, fail, ok } from '../../src/lib/util/result.ts'
import type {
  BackendName,
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  CaptureTarget,
  Unavailable,
} from '../../src/server/capture/backend.ts'
import { rgbPng } from './png.ts'

/** A PNG file of one grey. */
export function greyPng(width: number, height: number, grey: number): Buffer {
  return rgbPng(new Uint8Array(width * height * 3).fill(grey), width, height)
}

export interface Taking {
  readonly target: CaptureTarget
  readonly form: CaptureForm
  readonly outcome: PromiseWithResolvers<Result<Capture, CaptureFailure>>
}

export const noDisplay: Unavailable = {
  reason: 'no_display',
  message: 'there is no display',
  hint: 'start it in a desktop session',
}

/** A backend whose windows a test holds in memory. */
export class MemoryBackend implements CaptureBackend {
  readonly name: BackendName
  /** What it says when it is probed. */
  state: Result<null, Unavailable> = ok(null)
  window = { width: 40, height: 20 }
  /** In place of a picture. */
  failure: CaptureFailure['reason'] | null = null
  /** Captures wait for `takings` to be settled by the test. */
  held = false
  readonly probed: CaptureTarget[] = []
  readonly takings: Taking[] = []

  constructor(name: BackendName = 'native') {
    this.name = name
  }

  async probe(target: CaptureTarget): Promise<Result<null, Unavailable>> {
    this.probed.push(target)
    return this.state
  }

  async capture(
    target: CaptureTarget,
    form: CaptureForm,
  ): Promise<Result<Capture, CaptureFailure>> {
    const outcome = Promise.withResolvers<Result<Capture, CaptureFailure>>()
    this.takings.push({ target, form, outcome })
    const { failure } = this
    if (failure !== null) return fail({ reason: failure, message: `${this.name} says ${failure}` })
    return this.held ? outcome.promise : ok(this.picture(form.maxWidth))
  }

  /** Another grey for each capture. */
  picture(maxWidth: number): Capture {
    const width = Math.min(this.window.width, maxWidth)
    const height = Math.max(1, Math.round((this.window.height * width) / this.window.width))
    return { png: greyPng(width, height, this.takings.length) }
  }
}
