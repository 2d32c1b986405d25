import { deflateSync } from 'node:zlib'
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
import { pngChunk, pngHeader, pngSignature } from './png.ts'

/** A PNG file of one grey. */
export function greyPng(width: number, height: number, grey: number): Buffer {
  const rows = Buffer.alloc((width + 1) * height, grey)
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0
  return Buffer.concat([
    pngSignature,
    pngHeader(width, height, [8, 0, 0, 0, 0]),
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND'),
  ])
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
  window = { title: 'memory', width: 40, height: 20 }
  /** In place of a picture. */
  failure: CaptureFailure['reason'] | null = null
  /** Captures wait for `takings` to be settled by the test. */
  held = false
  closed = 0
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

  async close(): Promise<void> {
    this.closed++
  }

  /** Another grey for each capture. */
  picture(maxWidth: number): Capture {
    const width = Math.min(this.window.width, maxWidth)
    const height = Math.max(1, Math.round((this.window.height * width) / this.window.width))
    return { png: greyPng(width, height, this.takings.length), width, height, window: this.window }
  }
}
